"""Open question: what the rule of a task may ask of one image, and all that a rule may look at.

A task with a rule lies beyond the published cube. Its rule (``tasks/<name>/rule.py``) gets one case
at a time, without pixels, and yields questions; ``compose`` draws the items among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Protocol

from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, Grade, Visibility
from medrcube.forms.option import OptionTarget
from medrcube.forms.protocol import Target
from medrcube.ontologies.distractor_safety import CaseFacts
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Terms
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task

__all__ = ["CaseView", "OpenQuestion", "OpenRule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """All that a rule may look at: one case, and no pixels.

    Attributes:
        task: the task of the rule, with what its declaration says (``settings`` among it).
        card: card of the source.
        case: the case.
        facts: what is known of it: present, absent or unknown.
        samples: all images made of it, by id.
        geometry: what was measured of its regions, one row for each region and clean image.
        terms: term table.
        relations: relation table.
    """

    task: Task
    card: Card
    case: Case
    facts: CaseFacts
    samples: tuple[Sample, ...]
    geometry: tuple[Geometry, ...]
    terms: Terms
    relations: Relations


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """One thing to ask of one image.

    Attributes:
        task: the task, that of the view.
        sample: the image that is shown.
        field: card field of the fact.
        concept: what is asked about; equal for the members of a set.
        topic: what a patient is asked about only once, where it is wider than the concept: whether
            a lesion is benign and whether it is malignant is one thing; empty for the concept.
        target: what is asked for, what is right, and the bar; options for the form ``option``.
        values: what the wordings need beside ``shown`` and ``target``.
        prior: cell of the blind prior beside the task, such as source, concept and view.
        stratum: what the members of a set have in common, such as source, view and device.
        role: ``yes`` and ``no``, ``left`` and ``right``: members of a set have different ones.
        contrast: what else the image of an answer "no" shows (``contrast``); empty where that does
            not matter.
        lot: class over which a quota draws evenly, such as one of size; empty for none.
        seen: numbers that the frame of the image tells, such as the logarithm of its extent in mm;
            a regression on them is tried as a blind answer.
        grade: evidence that the target is right, and the only one.
        visible: whether a reader of the image could know it.
        barred: reason why it must not be asked, which is counted; empty when it may.
    """

    task: Task
    sample: Sample
    field: str
    concept: str
    target: Target | OptionTarget
    values: Mapping[str, str] = attribute(default_factory=dict)
    prior: tuple[str, ...] = ()
    stratum: tuple[str, ...] = ()
    role: str = ""
    contrast: str = ""
    lot: str = ""
    seen: tuple[float, ...] = ()
    topic: str = ""
    grade: Grade = Grade.A
    visible: Visibility = Visibility.YES
    barred: str = ""


class OpenRule(Protocol):
    """What the ``rule.py`` of a task holds under the name ``rule``."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Everything that may be asked of the images of one case, in a fixed order."""
        ...
