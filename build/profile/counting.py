"""``[[count]]`` tables of a card, counted in a raw tree by its adapter; no picture is opened.

Label tables are enough: pictures that are not there count like those that are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from medrcube.build.contradictions import hear
from medrcube.build.profile.answers import prepared_of
from medrcube.errors import SourceError
from medrcube.ontologies.terms import load_terms
from medrcube.records import Case
from medrcube.sources.contract import Source, quirk_of
from medrcube.sources.layout import check_root, verify

_AT_ONCE = 5000
"""Cases that are held at once."""

Counted = Mapping[tuple[str, str], Counter[str]]
"""(field, kind of picture) -> concept -> pictures."""


def count_answers(source: Source, root: Path) -> Counted:
    """Pictures of each answer that may be asked about at default settings.

    What only pixels tell is not known here: how large a mask is, which pictures are broken, have
    marks burnt in or are the same.

    Raises:
        SourceError: the tree fits no layout, or the adapter breaks its contract.
    """
    found: dict[tuple[str, str], Counter[str]] = {}
    cases = cases_of(source, root)
    while some := list(islice(cases, _AT_ONCE)):
        for one in prepared_of(source.card, some).ready:
            query = one.query
            if query.field and not source.card.fields[query.field].constant:
                shelf = found.setdefault((query.field, query.sample.artefact), Counter())
                shelf[query.key] += 1
    return found


def as_toml(found: Counted, evidence: str) -> str:
    """The tables as a card takes them."""
    lines = []
    for (field, shown), pictures in sorted(found.items()):
        entries = ", ".join(f'"{name}" = {n}' for name, n in sorted(pictures.items()))
        lines += ["[[count]]", f'field = "{field}"']
        lines += [f'shown = "{shown}"'] if shown != "clean" else []
        lines += [f"pictures = {{ {entries} }}"]
        lines += ['reason = "counted by the adapter: pictures that may be asked about"']
        lines += [f'evidence = "{evidence}"', ""]
    return "\n".join(lines)


def cases_of(source: Source, root: Path) -> Iterator[Case]:
    """Cases of a raw tree whose labels have been held against the source's own words.

    Raises:
        SourceError: the tree fits no layout, or the adapter breaks its contract.
    """
    root = root.resolve()
    check_root(source.card, root)
    report = verify(source.card, root)
    if not report.fits:
        raise SourceError(report.describe())
    terms = load_terms()
    for found in source.scan(root, report.layout):
        if isinstance(found, Case) and quirk_of(source.card, found.key, "drop") is None:
            yield hear(source.card, found, terms).case
