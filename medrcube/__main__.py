"""The command ``medrcube``. Workers of a build import this again, so it loads nothing by itself."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from medrcube.cli import main as run  # noqa: PLC0415  # only the command itself needs it

        run()
    except KeyboardInterrupt:  # during the imports, or while another one was being told
        sys.stderr.write("\nstopped; the same command goes on from here\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
