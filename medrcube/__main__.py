"""The command ``medrcube``. Workers of a build import this again, so it loads nothing by itself."""


def main() -> None:
    """Run the command line."""
    from medrcube.cli import main as run  # noqa: PLC0415  # only the command itself needs it

    run()


if __name__ == "__main__":
    main()
