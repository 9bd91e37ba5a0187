"""Abstention: a fact asked about an image that shows it, and about a sibling that cannot show it.

The policies in ``task.toml`` state which facts no reader can know from an image, each with a
reason. That the scope of a fact is wider than the image is no proof by itself: a film may well show
what was read from the whole study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.questions.fact_rules import OUT_OF_SCOPE, bar_of, visible_of
from medrcube.build.questions.question_wording import own_names
from medrcube.build.stages.samples import Sample
from medrcube.facts import Grade, LabelState, Scope, Visibility
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.name_grammar import pluralize
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.taxonomy import Anatomy, Modality
from medrcube.vocabulary.image_names import image_name

ABSTAIN = "Cannot be determined from this image alone"
SHOWN_FACT, HIDDEN_FACT = "shown", "hidden"
NO_POLICY, NO_PATIENT = "no-policy", "no-patient"
"""Reasons why nothing is asked: no policy states that the image hides the fact; no sibling."""

_LETTERS = "ABCD"


class AbstentionPolicy(NamedTuple):
    """One policy: a fact, and the images that hide it; see ``task.toml``."""

    name: str
    asked: bool
    scope: str = ""
    rests_on_panels: bool = False
    concept: str = ""
    finding: str = ""
    denied_by: tuple[str, ...] = ()
    shown_on: tuple[str, ...] = ()
    hidden_on: tuple[str, ...] = ()
    reason: str = ""
    evidence: str = ""

    def fits(self, field: CardField) -> bool:
        """Whether the policy applies to a field."""
        if self.concept:
            return self.concept in field.concepts()
        if self.rests_on_panels:
            return bool(field.rests_on)
        return self.scope == field.scope.name.lower()


class _PolicyFact(NamedTuple):
    """One fact under its policy: its name, options, and values for the wordings."""

    field: CardField
    policy: str
    concept: str
    options: tuple[str, ...]
    values: Mapping[str, str]


class AbstentionRule:
    """Asks one question per fact with a policy that a clean image shows or hides."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield questions in the order of the images, then of the card's fields."""
        policies = [_policy(row) for row in view.task.declaration.settings["policy"]]
        kinds = set(view.task.declaration.kinds)
        fields = [field for field in view.card.fields.values() if field.kind in kinds]
        for sample in view.samples:
            if sample.artefact != "clean":
                continue
            for field in fields:
                policy = next((policy for policy in policies if policy.fits(field)), None)
                if policy is not None and policy.asked and policy.concept:
                    yield from _of_concept(view, sample, field, policy)
                elif policy is not None and policy.asked and field.group is not None:
                    yield from _of_group(view, sample, field, policy)
                elif _is_wider(field, sample):
                    yield _refused(view, sample, field, policy)


rule = AbstentionRule()


def _policy(row: Mapping[str, Any]) -> AbstentionPolicy:
    lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
    return AbstentionPolicy(**{**row, **lists})


def _is_wider(field: CardField, sample: Sample) -> bool:
    return field.scope > Scope[sample.scope.upper()]


def _of_group(
    view: CaseView, sample: Sample, field: CardField, policy: AbstentionPolicy
) -> Iterator[OpenQuestion]:
    """Yield questions about a value of an exclusive group, such as an ejection fraction range.

    If the group has more values than option letters, each selection of values is a separate
    question, so that both members of a set have the same options and any of them may be drawn.
    """
    group = field.group or ""
    members = view.relations.group_members(group)
    names, scale = own_names(members, view.terms), view.relations.scale(group)
    values = {"finding": "", "scale": pluralize(scale.phrase), "of": scale.of}
    hidden = _is_wider(field, sample)
    key = next((name for name in members if _is_stated(view, field, name)), "")
    for offered in combinations(members, min(len(members), len(_LETTERS) - 1)):
        texts = tuple(names[name].text for name in offered)
        ask = _PolicyFact(field, policy.name, group, texts, values)
        if hidden:
            yield _question(view, sample, ask)
        elif key in offered:
            yield _question(view, sample, ask, key=names[key].text)


def _of_concept(
    view: CaseView, sample: Sample, field: CardField, policy: AbstentionPolicy
) -> Iterator[OpenQuestion]:
    """Yield questions about a finding marked on an image that can show it, or denied by a label."""
    values = {"finding": policy.finding, "scale": "", "of": ""}
    fact = _PolicyFact(field, policy.name, policy.concept, ("Yes", "No"), values)
    present = view.facts.present
    if any(name in present for name in policy.hidden_on):
        yield _question(view, sample, fact)
    elif not any(name in present for name in policy.shown_on):
        return
    elif _is_denied(view, field, policy):
        yield _question(view, sample, fact, key="No")
    elif policy.concept in present:
        area = sum(
            row.pixels / (row.width * row.height)
            for row in view.geometry
            if row.sample == sample.id and row.concept == policy.concept
        )
        if area:
            small = "roi-size" if area < view.card.roi[0] else ""
            yield _question(view, sample, fact, key="Yes", bar_reason=small)


def _is_denied(view: CaseView, field: CardField, policy: AbstentionPolicy) -> bool:
    """Whether a label states that the finding is absent; a missing mark is not sufficient."""
    return policy.concept not in view.facts.present and any(
        label.field == field.name
        and concept_of(view.card, label)
        in ((policy.concept,) if label.state is LabelState.ABSENT else policy.denied_by)
        for label in view.case.labels
        if label.state is not LabelState.UNKNOWN
    )


def _is_stated(view: CaseView, field: CardField, concept: str) -> bool:
    """Whether a label states the concept and nothing contradicts it."""
    return concept in view.facts.present and any(
        label.state is LabelState.PRESENT
        and label.field == field.name
        and concept_of(view.card, label) == concept
        for label in view.case.labels
    )


def _refused(
    view: CaseView, sample: Sample, field: CardField, policy: AbstentionPolicy | None
) -> OpenQuestion:
    """Return a barred question: scope wider than the image, but no proof that it is hidden."""
    why = NO_POLICY if policy is None else f"not-proved ({policy.name})"
    fact = _PolicyFact(field, policy.name if policy else "", field.name, ("Yes",), {})
    return _question(view, sample, fact, bar_reason=why)


def _question(
    view: CaseView, sample: Sample, fact: _PolicyFact, *, key: str = "", bar_reason: str = ""
) -> OpenQuestion:
    """Build the question with its right option; without ``key`` the image hides the fact."""
    texts = (*fact.options, ABSTAIN)
    image = image_name(Modality(sample.modality), Anatomy(sample.anatomy))
    visible = visible_of(view.card, view.case, fact.field) if key else Visibility.YES
    return OpenQuestion(
        task=view.task,
        sample=sample,
        field=fact.field.name,
        concept=fact.concept,
        target=OptionTarget(
            options=tuple(zip(_LETTERS, texts, strict=False)),
            key=_LETTERS[texts.index(key or ABSTAIN)],
        ),
        values={"shown": f"this {image}", **fact.values},
        prior=(sample.source, fact.policy),
        stratum=(
            *(sample.source, fact.policy, sample.patient, f"{len(view.case.images)} panels"),
            *(*_views(view), *texts),
        ),
        role=SHOWN_FACT if key else HIDDEN_FACT,
        grade=Grade.B,
        visible=visible,
        bar_reason=bar_reason or _bar(view, sample, fact.field, hidden=not key),
    )


def _bar(view: CaseView, sample: Sample, field: CardField, *, hidden: bool) -> str:
    """Return what bars the other tasks from the image, except for scope if that is intended."""
    confirmed = frozenset(entry.field for entry in view.samples if entry.artefact == "numbered")
    for told_by in (view.task.declaration.told_by, "words"):
        bar = bar_of(view.card, view.case, sample, field, told_by=told_by, confirmed=confirmed)
        if bar and not (hidden and bar == OUT_OF_SCOPE):
            return bar
    return "" if sample.patient else NO_PATIENT


def _views(view: CaseView) -> Iterator[str]:
    """Yield view or plane of the image, in the wording of the source."""
    for label in view.case.labels:
        if view.card.fields[label.field].kind == "view":
            yield f"{label.field}={label.value}"
