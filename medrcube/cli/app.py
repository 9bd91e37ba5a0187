"""The application ``medrcube``: its commands, its global options, and how it ends.

A part is imported inside the command that needs it, so help is instant.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated

import typer

from medrcube.cli.build import build
from medrcube.cli.demo import demo
from medrcube.cli.endings import INTERRUPTED, end_in_error, end_interrupted
from medrcube.cli.errata import errata_app
from medrcube.cli.evaluation.compare import compare
from medrcube.cli.evaluation.evaluate import evaluate
from medrcube.cli.evaluation.export import export
from medrcube.cli.evaluation.import_run import import_run
from medrcube.cli.evaluation.report import report
from medrcube.cli.evaluation.score import score
from medrcube.cli.evaluation.site import site
from medrcube.cli.evaluation.validate_run import validate_run
from medrcube.cli.examples import EXAMPLES, examples
from medrcube.cli.init import init
from medrcube.cli.missing_extra import missing_extra
from medrcube.cli.ontologies.app import ontologies_app
from medrcube.cli.reconstruct import reconstruct
from medrcube.cli.release import release
from medrcube.cli.review.app import review_app
from medrcube.cli.sources.app import sources_app
from medrcube.cli.tasks.app import tasks_app
from medrcube.cli.validate import validate
from medrcube.console.verbosity import Verbosity, at_verbosity
from medrcube.errors import MedrcubeError
from medrcube.files.atomic import OTHERS_WRITE
from medrcube.names import escape_controls

__all__ = ["app", "main"]

EPILOG = """\
\b
Exit status:
- 0: done
- 1: done, but some data are invalid, missing or refused
- 2: usage error, or the command cannot run
- 3: incomplete; run the command again
- 130: stopped by Ctrl-C

\b
Environment:
- NO_COLOR, FORCE_COLOR: colours off, on
- COLUMNS: width of help and of tables on a terminal; tables in a pipe are whole

\b
Completion:
- shells: bash, zsh, fish, powershell, pwsh
"""

app = typer.Typer(
    name="medrcube",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:  # noqa: FBT001  (the callback of an option)
    if requested:
        from importlib.metadata import version

        typer.echo(f"medrcube {version('medrcube')}")
        raise typer.Exit


@app.callback()
def medrcube(
    context: typer.Context,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show only results and errors, no progress.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show full lists and the time of each stage."),
    ] = False,
    version: Annotated[  # noqa: ARG001  (its callback ends the command)
        bool,
        typer.Option("--version", is_eager=True, callback=_version, help="Show the version."),
    ] = False,
) -> None:
    """Rebuild, extend and run medical-imaging benchmarks for multimodal models."""
    if quiet and verbose:
        raise typer.BadParameter("--quiet and --verbose are mutually exclusive; give one of them")
    if quiet or verbose:
        context.with_resource(at_verbosity(Verbosity.QUIET if quiet else Verbosity.VERBOSE))


_COMMANDS: tuple[Callable[..., None], ...] = (
    *(demo, init, build, release, reconstruct, validate),
    *(evaluate, score, report, compare, site, validate_run, export, import_run),
)
for command in _COMMANDS:
    name = command.__name__.replace("_", "-")
    app.command(name, epilog=examples(name) if name in EXAMPLES else None)(command)
app.add_typer(errata_app, name="errata")
app.add_typer(sources_app, name="sources")
app.add_typer(tasks_app, name="tasks")
app.add_typer(ontologies_app, name="ontologies")
app.add_typer(review_app, name="review")


def main() -> None:
    """Run the command line; errors that a user can fix are shown without a traceback.

    Output files are writable by their owner only, whatever the umask.
    """
    os.umask(os.umask(OTHERS_WRITE) | OTHERS_WRITE)
    try:
        _part(next((word for word in sys.argv[1:] if not word.startswith("-")), ""))()
    except MedrcubeError as error:
        end_in_error(escape_controls(str(error)), error.exit_code)
    except PermissionError as error:
        if error.filename is None:
            raise
        reason = f"{error.filename}: {error.strerror}; check the permissions of it and its folders"
        end_in_error(escape_controls(reason), MedrcubeError.exit_code)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        end_in_error(escape_controls(str(missing)), missing.exit_code)
    except KeyboardInterrupt as stop:
        end_interrupted(stop)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer turns Ctrl-C into this
            end_interrupted(end)
        raise


@cache
def _part(name: str) -> typer.Typer:
    """Return the application with one command, or all of it if no command has that name.

    Typer evaluates the options of every command at each start, which takes a fifth of it.
    """
    part = copy.copy(app)
    part.registered_commands = [entry for entry in app.registered_commands if entry.name == name]
    part.registered_groups = [entry for entry in app.registered_groups if entry.name == name]
    return part if part.registered_commands or part.registered_groups else app
