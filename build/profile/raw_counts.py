"""Answer counts of a raw tree for the ``[[count]]`` tables of a card; opens no image.

Label tables suffice: missing images count like present ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from medrcube.build.profile.answerable import prepare_cases
from medrcube.build.stages.contradictions import check_labels
from medrcube.errors import SourceError
from medrcube.facts import Case
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.card_parts.counts import AnswerCount
from medrcube.sources._framework.contract import Source
from medrcube.sources._framework.layout import check_root, inspect_copy

__all__ = ["AnswerTally", "as_counts", "as_toml", "cases_of", "count_answers"]

_AT_ONCE = 5000
"""Cases held in memory at once."""


@dataclass(slots=True, kw_only=True)
class AnswerTally:
    """Number of images by concept, and the possible distractors on some of them."""

    pictures: Counter[str] = field(default_factory=Counter)
    beside: dict[str, set[str]] = field(default_factory=dict)


AnswerTallies = Mapping[tuple[str, str], AnswerTally]
"""(field, kind of image) -> what was counted."""


def count_answers(source: Source, root: Path) -> AnswerTallies:
    """Count the images of each answer that may be asked about with default settings.

    Properties that only pixels determine are ignored: the size of masks, and images that are
    broken, have burnt-in marks or are equal.

    Raises:
        SourceError: the tree fits no layout, or the adapter breaks its contract.
    """
    tallies: dict[tuple[str, str], AnswerTally] = {}
    cases = cases_of(source, root)
    while some := list(islice(cases, _AT_ONCE)):
        for question in prepare_cases(source.card, some).ready:
            query = question.query
            card_field = source.card.fields.get(query.field)
            if card_field is None or card_field.constant:
                continue
            tally = tallies.setdefault((query.field, query.sample.artefact), AnswerTally())
            tally.pictures[query.key] += 1
            if (
                card_field.group is None
                and query.sample.artefact == "clean"
                and question.compatible
            ):
                own = set(question.compatible.labels.values()).intersection(card_field.concepts())
                tally.beside.setdefault(query.key, set()).update(own)
    return tallies


def as_counts(tallies: AnswerTallies, evidence: str) -> tuple[AnswerCount, ...]:
    """Return the counts in the form used by cards."""
    return tuple(
        AnswerCount(
            field=name,
            shown=artefact,
            pictures=dict(sorted(tally.pictures.items())),
            beside={key: tuple(sorted(others)) for key, others in sorted(tally.beside.items())},
            reason="counted by the adapter: images that may be asked about",
            evidence=evidence,
        )
        for (name, artefact), tally in sorted(tallies.items())
    )


def as_toml(counts: Iterable[AnswerCount]) -> str:
    """Return the ``[[count]]`` tables as TOML."""
    lines = []
    for count in counts:
        lines += ["[[count]]", f'field = "{count.field}"']
        lines += [f'shown = "{count.shown}"'] if count.shown != "clean" else []
        lines += [
            f'reason = "{count.reason}"',
            f'evidence = "{count.evidence}"',
            "[count.pictures]",
        ]
        lines += [f'"{name}" = {pictures}' for name, pictures in count.pictures.items()]
        partners = {name: others for name, others in count.beside.items() if others}
        lines += ["[count.beside]"] if partners else []
        for name, others in partners.items():
            lines.append(f'"{name}" = [' + ", ".join(f'"{other}"' for other in others) + "]")
        lines.append("")
    return "\n".join(lines)


def cases_of(source: Source, root: Path) -> Iterator[Case]:
    """Yield the cases of a raw tree, with labels checked against the source's own text.

    Raises:
        SourceError: the tree fits no layout, or the adapter breaks its contract.
    """
    root = root.resolve()
    check_root(source.card, root)
    report = inspect_copy(source.card, root)
    if not report.fits:
        raise SourceError(report.describe())
    terms = load_terms()
    for case in source.scan(root, report.layout):
        if isinstance(case, Case) and quirk_of(source.card, case.key, "drop") is None:
            yield check_labels(source.card, case, terms).case
