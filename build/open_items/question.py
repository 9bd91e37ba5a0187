"""Open question: a question that a task's rule makes about one image, and the input of rules.

A task with a rule lies outside the published cube. Its rule (``tasks/<name>/rule.py``) gets one
case at a time, without pixels, and yields questions; ``compose`` draws the items among them.
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
    """Input of a rule: one case, without pixels.

    Attributes:
        task: the task of the rule, with its declaration (including ``settings``).
        card: card of the source.
        case: the case.
        facts: its facts: present, absent or unknown.
        samples: all its images, by id.
        geometry: measurements of its regions, one row for each region and clean image.
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
    """One question about one image.

    Attributes:
        task: the task, that of the view.
        sample: the image that is shown.
        field: card field of the fact.
        concept: concept that is asked about; equal for the members of a set.
        topic: subject about which a patient is asked only once, if it is wider than the concept:
            whether a lesion is benign and whether it is malignant is one topic; empty for the
            concept.
        target: what the question asks for, what is right, and the bar; options for the form
            ``option``.
        values: values that the wordings need in addition to ``shown`` and ``target``.
        prior: cell of the blind prior within the task, such as source, concept and view.
        stratum: what the members of a set have in common, such as source, view and device.
        role: ``yes`` and ``no``, ``left`` and ``right``: members of a set have different roles.
        contrast: what else the image of an answer "no" shows (``contrast``); empty if that does not
            matter.
        lot: class over which a quota is balanced, such as a size class; empty for none.
        visible_values: numbers that the frame of the image reveals, such as the logarithm of its
            extent in mm; a regression on them is tested as a blind answer.
        grade: evidence that the target is right, and the only one.
        visible: whether a reader of the image could know the answer.
        bar_reason: reason why it must not be asked, which is counted; empty if it may.
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
    visible_values: tuple[float, ...] = ()
    topic: str = ""
    grade: Grade = Grade.A
    visible: Visibility = Visibility.YES
    bar_reason: str = ""


class OpenRule(Protocol):
    """Protocol of the object that a task's ``rule.py`` defines under the name ``rule``."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield all questions that may be asked about the images of one case, in a fixed order."""
        ...
