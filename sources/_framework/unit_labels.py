"""Labels that all images of a unit share: what the images state differently is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from medrcube.facts import Case, Label, LabelState, Skip
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField

__all__ = ["UnitLabels"]

States = Mapping[str, LabelState]
"""State of each concept that one image states; a value without a concept stands for itself."""


class UnitLabels:
    """The labels of each unit, in the fields of a card that are the same for a whole unit."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._fields = [field for field in card.fields.values() if field.per_unit]
        self._states: dict[tuple[str, str], States] = {}
        self._shared: dict[frozenset[tuple[str, LabelState]], States] = {}
        self._disputed: dict[str, set[str]] = {}

    def watch(self, entries: Iterable[Case | Skip]) -> Iterator[Case | Skip]:
        """Yield the entries and compare the labels of those that share a unit."""
        for entry in entries:
            if isinstance(entry, Case) and entry.unit:
                for field in self._fields:
                    states = _states(field, entry.labels)
                    # Many units state the same; a hundred thousand share a few hundred records.
                    states = self._shared.setdefault(frozenset(states.items()), states)
                    self._compare(entry.unit, field, states)
            yield entry

    def settle(self, case: Case) -> Case:
        """Return the case with unknown labels where another image of its unit states others.

        A present concept that implies a disputed one, or excludes it, is unknown as well.
        """
        disputed = self._disputed.get(case.unit or "", set())
        fields = {field.name: field for field in self._fields}
        doubts: dict[str, list[str]] = {}
        labels: list[Label] = []
        for label in case.labels if disputed else ():
            name = _name(fields[label.field], label.value) if label.field in fields else ""
            doubted = name in disputed or (
                bool(name) and label.state is LabelState.PRESENT and _rests_on(name, disputed)
            )
            if doubted:
                doubts.setdefault(label.field, []).append(name)
            labels.append(replace(label, state=LabelState.UNKNOWN) if doubted else label)
        for field in self._fields if disputed else ():
            for name in sorted(
                disputed.intersection(field.concepts()) - {*doubts.get(field.name, ())}
            ):
                doubts.setdefault(field.name, []).append(name)
                labels.append(_open(field, name))
        remarks = tuple(
            f"{name}: the images of one unit do not agree on {', '.join(map(repr, sorted(own)))}; "
            "taken as unknown"
            for name, own in doubts.items()
        )
        return replace(case, labels=tuple(labels), remarks=remarks) if disputed else case

    def _compare(self, unit: str, field: CardField, states: States) -> None:
        before = self._states.setdefault((unit, field.name), states)
        if before is states or before == states:
            return
        if field.group is None or field.compound:
            differ = {name for name in {**before, **states} if before.get(name) != states.get(name)}
        else:
            differ = {*before, *states} if _parted(before, states) else set()
            if not differ and before and states:
                # What either image rules out is ruled out for the unit.
                self._states[unit, field.name] = {
                    name: min(before[name], states[name], key=_OPENNESS.index)
                    for name in before
                    if name in states
                }
            elif not before:
                self._states[unit, field.name] = states
        if differ:
            self._disputed.setdefault(unit, set()).update(differ)


_OPENNESS = (LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN)


def _open(field: CardField, concept: str) -> Label:
    return Label(
        field=field.name,
        value=field.raw_value(concept),
        state=LabelState.UNKNOWN,
        evidence="another image of the unit",
    )


def _states(field: CardField, labels: Iterable[Label]) -> States:
    states: dict[str, LabelState] = {}
    for label in labels:
        if label.field == field.name:
            name = _name(field, label.value)
            agrees = states.get(name, label.state) is label.state
            states[name] = label.state if agrees else LabelState.UNKNOWN
    return states


def _name(field: CardField, value: str) -> str:
    """Return the concept of a value, or the value where the card has none for it."""
    try:
        return field.concept(value) or value
    except (KeyError, ValueError):
        return value  # the case is set aside for it


def _parted(before: States, states: States) -> bool:
    """Whether two images cannot share one value of a group: each leaves open what it states."""
    first, second = (
        {name for name, state in own.items() if state is not LabelState.ABSENT}
        for own in (before, states)
    )
    present = {name for own in (before, states) for name in own if own[name] is LabelState.PRESENT}
    return bool(before and states) and not (first & second and present <= first & second)


def _rests_on(name: str, disputed: set[str]) -> bool:
    """Whether a concept implies one that is disputed, or excludes it."""
    terms, relations = load_terms(), load_relations()
    return any(
        other in relations.closure(name) or relations.excludes(name, other)
        for other in disputed
        if name in terms and other in terms
    )
