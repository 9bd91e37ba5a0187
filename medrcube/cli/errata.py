"""``medrcube errata``: withdraw items of a release after it was published."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from medrcube.cli.examples import examples
from medrcube.cli.options.shared import Json, ReleaseDir, Wide
from medrcube.console.counts import counted
from medrcube.errors import ReleaseError

__all__ = ["errata_app"]

errata_app = typer.Typer(
    help="Withdraw items from a published release.",
    no_args_is_help=True,
)


@errata_app.command(epilog=examples("errata add"))
def add(
    release: ReleaseDir,
    items: Annotated[
        list[str], typer.Argument(metavar="ITEM", help="Item, as SOURCE/ID or ID; repeatable.")
    ],
    why: Annotated[str, typer.Option(metavar="TEXT", help="Reason, in one line.")],
    by: Annotated[
        str,
        typer.Option(
            metavar="ROLE", help="Role of the person who withdraws; never a name or address."
        ),
    ] = "maintainer",
    reference: Annotated[
        str, typer.Option(metavar="TEXT", help="Where to read more, such as the URL of an issue.")
    ] = "",
    json_output: Json = False,
) -> None:
    """Exclude items from scores and exports.

    Writes errata.csv into the release; no digest covers that file, and no other file changes. Later
    scores and exports exclude the items. To update an earlier run: medrcube score RUN --release
    RELEASE.
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import load_benchmark
    from medrcube.release_format.errata import FILE, Erratum, add_errata

    benchmark = load_benchmark(release, pictures=False)
    names = {item.name for item in benchmark.items}
    by_id: dict[str, list[str]] = {}
    for item in benchmark.items:
        by_id.setdefault(item.id, []).append(item.name)
    today = datetime.now(UTC).date().isoformat()
    rows = []
    for item_id in dict.fromkeys(items):
        fitting = [item_id] if item_id in names else by_id.get(item_id, [])
        if len(fitting) != 1:
            place = f"is in {', '.join(fitting)}" if fitting else "is not in this release"
            raise ReleaseError(f"{item_id} {place}; expected SOURCE/ID; nothing was written")
        dataset, _, name = fitting[0].partition("/")
        rows.append(
            Erratum(dataset=dataset, id=name, by=by, on=today, why=why, reference=reference)
        )
    added, before = add_errata(release, rows, names)
    reporter = Reporter(json_output=json_output)
    for name in before:
        reporter.result(f"{name} is already withdrawn; its row is unchanged")
    withdrawn = len(benchmark.errata) + len(added)
    reporter.result(
        f"{counted(len(added), 'item')} withdrawn, {withdrawn:,} of {len(names):,} in total: "
        f"{release / FILE}"
    )
    reporter.data(
        {
            "added": [asdict(row) for row in added.values()],
            "before": list(before),
            "withdrawn": withdrawn,
            "file": str(release / FILE),
        }
    )


@errata_app.command("list")
def list_errata(release: ReleaseDir, wide: Wide = False, json_output: Json = False) -> None:
    """List withdrawn items, with reasons."""
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.release_format.errata import read_errata
    from medrcube.release_format.tree import find_tables

    find_tables(release)  # refuses a folder that is not a release
    errata = read_errata(release)
    reporter = Reporter(json_output=json_output, wide=wide)
    if errata:
        reporter.table(
            ("item", "by", "on", "why", "reference"),
            [(row.name, row.by, row.on, row.why, row.reference) for row in errata],
        )
    reporter.result(f"{counted(len(errata), 'item')} withdrawn")
    reporter.data({"withdrawn": [asdict(row) for row in errata]})
