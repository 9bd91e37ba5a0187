"""The command ``medrcube``. Workers of a build import this again, so it loads nothing by itself."""

from medrcube.cli.endings import end_interrupted


def main() -> None:
    """Run the command line."""
    try:
        from medrcube.cli.app import main as run  # noqa: PLC0415  # only the command itself needs it

        run()
    except KeyboardInterrupt as stop:  # during the imports, or while another one was being told
        end_interrupted(stop)


if __name__ == "__main__":
    main()
