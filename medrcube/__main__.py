"""Entry point of the ``medrcube`` command.

Worker processes of a build import this module again, so it imports nothing heavy at the top level.
"""

from medrcube.cli.endings import end_interrupted


def main() -> None:
    """Run the command line."""
    try:
        from medrcube.cli.app import main as run  # noqa: PLC0415  # only the command itself needs it

        run()
    except KeyboardInterrupt as stop:  # during imports, or while an earlier one was being reported
        end_interrupted(stop)


if __name__ == "__main__":
    main()
