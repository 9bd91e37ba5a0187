"""What a source says of one picture, from the ``Case`` records and the card alone.

A picture is told about by every case that shows the same pixels, and by what other cases of the
same patient say of the patient.
"""

from collections import defaultdict
from copy import copy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from medrcube.facts import Absence, Case, Grade, LabelState, Scope

MODALITIES = {"X-ray": "X-ray", "CT": "CT", "MRI": "MRI", "Ultrasound": "ultrasound"}
"""Modality of a case -> its label in the table of terms."""


@dataclass(frozen=True)
class Statement:
    """One statement: a concept in a state, how wide it holds, and where it stands.

    ``grade`` is that of the evidence when it is absent; an empty ``concept`` is a value that the
    card knows and leaves unused.
    """

    concept: str
    state: LabelState
    field: str
    scope: Scope
    grade: Grade
    place: str

    def __str__(self):
        return (
            f"{self.field} {self.concept!r} {self.state} ({self.scope.name.lower()}; {self.place})"
        )


@dataclass(frozen=True)
class Picture:
    """What is known of one picture of one case, as shown.

    ``marked`` holds concept and field of every region that marks a pixel of the shown slice.
    """

    card: object
    case: Case
    shows: Scope
    anatomy: str
    modality: str
    statements: tuple[Statement, ...]
    marked: frozenset[tuple[str, str]]

    def having(self, *states):
        return [fact for fact in self.statements if fact.concept and fact.state in states]

    def spoken(self, field):
        """Whether the source says anything in that field of this picture."""
        return any(fact.field == field for fact in self.statements)

    def names_nothing_else(self, field):
        """Whether no statement of the field is one that the card cannot name."""
        return not any(
            fact.field == field and not fact.concept and fact.state is not LabelState.ABSENT
            for fact in self.statements
        )


class Witness:
    """All cases of one source, ready to tell what holds for any of its pictures."""

    def __init__(self, source, root, layout, frames):
        """``frames``: key of a case -> which slices of it are shown."""
        self.source, self.card, self.root = source, source.card, root
        self._frames = frames
        entries = [entry for entry in source.scan(root, layout) if isinstance(entry, Case)]
        self.cases = {case.key: case for case in entries}
        self._twins, self._kin = defaultdict(list), defaultdict(list)
        for case in entries:
            self._twins[_images(case)].append(case.key)
            if case.patient is not None:
                self._kin[case.patient].append(case.key)

    def copy(self):
        """A witness whose cases and card may be changed."""
        witness = copy(self)
        witness.cases = dict(self.cases)
        return witness

    def of_same_images(self, key):
        """Every case that shows a slice of these images in this plane, itself first."""
        case = self.cases[key]
        return [case, *(self.cases[entry] for entry in self._twins[_images(case)] if entry != key)]

    def picture(self, key, frame, marked=frozenset()):
        """What is known of a picture of a case.

        Args:
            key: of the case.
            frame: slice that is shown.
            marked: concept and field of every region that the shown slice holds.
        """
        case, *others = self.of_same_images(key)
        twins = [case, *(entry for entry in others if frame in self._frames.get(entry.key, ()))]
        entries = [entry for twin in twins for entry in self._said(twin)]
        for wide, kin in (
            (Scope.VOLUME, others),
            (Scope.PATIENT, [self.cases[entry] for entry in self._kin.get(case.patient, ())]),
        ):
            for other in kin:
                if other not in twins:
                    entries += [entry for entry in self._said(other) if entry.scope >= wide]
        for field in self.card.fields.values():
            if field.constant:
                place = "constant of the card"
                entries.append(self._say(field, field.constant, LabelState.PRESENT, place))
        for concept, name in sorted(marked):
            stated = self._say(self.card.fields[name], concept, LabelState.PRESENT, "marked here")
            entries.append(replace(stated, scope=Scope.IMAGE))  # of all that is shown
        modality = MODALITIES[case.modality or self.card.modality]
        return Picture(
            card=self.card,
            case=case,
            shows=case.shows or self.card.shows,
            anatomy=str(case.anatomy or self.card.anatomy),
            modality=str(case.modality or self.card.modality),
            statements=(
                *entries,
                Statement(
                    modality, LabelState.PRESENT, "", Scope.PATIENT, Grade.A, "modality of the case"
                ),
            ),
            marked=marked,
        )

    def quirks(self, key):
        """Actions of the card's quirks that name the case."""
        return {
            quirk.action
            for quirk in self.card.quirks
            if any(fnmatchcase(key, glob) for glob in quirk.keys)
        }

    def concept(self, field, value):
        """Concept that the card gives to a raw value, or nothing."""
        return self.card.fields[field].concept(value) or ""

    def _said(self, case):
        for label in case.labels:
            field = self.card.fields[label.field]
            concept = field.concept(label.value) or ""
            yield self._say(field, concept, label.state, label.evidence)

    def _say(self, field, concept, state, place):
        return Statement(concept, state, field.name, field.scope, field.stated, place)


def is_exhaustive(field):
    """Whether the silence of a field means absence."""
    return field.absence in {Absence.READER, Absence.IMPLIED}


def _images(case):
    return (tuple((image.paths, image.frame, image.member) for image in case.images), case.plane)
