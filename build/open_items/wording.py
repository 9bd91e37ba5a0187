"""Wording of open questions: template values, choice of a wording, and rules on stems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jinja2 import UndefinedError

from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.open_items.rule_files import RuleError
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.distractor_selection import seeded_tiebreak
from medrcube.ontologies.item_rules import ERROR, ItemText
from medrcube.ontologies.item_rules.stem import STEM_RULES
from medrcube.ontologies.name_grammar import pluralize
from medrcube.ontologies.target_phrases import target_phrase
from medrcube.ontologies.terms import Terms
from medrcube.taxonomy import Anatomy, Modality
from medrcube.templates import Wordings
from medrcube.vocabulary.image_names import image_name

__all__ = ["WordedQuestion", "question_values", "stem_faults", "word_question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordedQuestion:
    """A question in words.

    Attributes:
        variant: name of the wording.
        text: the question.
    """

    variant: str
    text: str


def question_values(question: OpenQuestion, terms: Terms) -> Mapping[str, str]:
    """Return the values that the wordings of a task may use.

    ``shown`` is a phrase for the image, ``target`` the concept with its article; a rule adds
    others, or overrides these.
    """
    sample = question.sample
    image = Modality(sample.modality).image
    if question.task.declaration.names_region:
        image = image_name(Modality(sample.modality), Anatomy(sample.anatomy))
    several = "+" in sample.frames
    values = {
        "shown": f"these {pluralize(image)}" if several else f"this {image}",
        "target": target_phrase(terms[question.concept]) if question.concept in terms else "",
        **question.values,
    }
    return {name: values[name] for name in question.task.declaration.values if name in values}


def word_question(
    questions: Sequence[OpenQuestion], wordings: Wordings, terms: Terms, *, seed: int, draw: str
) -> WordedQuestion | str:
    """Choose a wording for questions that share it, at random among those without faults.

    Args:
        questions: a single one, or the members of a set.
        wordings: templates.
        terms: term table.
        seed: decides the order.
        draw: seeds the random order together with the name of the wording.

    Returns:
        The wording, or the reason why all have faults.

    Raises:
        RuleError: a wording needs a value that the rule does not provide.
    """
    task = questions[0].task
    lots = {name: seeded_tiebreak(seed, draw, name) for name in wordings.variants(task)}
    reason = ""
    for name in sorted(lots, key=lots.__getitem__):
        try:
            texts = {
                wordings.render(task, name, **question_values(question, terms))
                for question in questions
            }
        except UndefinedError as error:
            raise RuleError(
                f"{wordings.where(task, name)}: {error}; list the value under 'wording.values' of "
                "task.toml, and give it in the questions of rule.py"
            ) from None
        if len(texts) > 1:
            return "different words in one set"
        (text,) = texts
        faults = [
            fault
            for question in questions
            for fault in stem_faults(question, text, question_values(question, terms))
        ]
        if not faults:
            return WordedQuestion(variant=name, text=text)
        reason = reason or f"lint {faults[0][0]}"
    return reason


def stem_faults(
    question: OpenQuestion, text: str, values: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return rule and message of each stem rule that the worded question breaks."""
    target = question.target
    options: tuple[str, ...] = ("\x00", "\x01")
    key = 0
    if isinstance(target, OptionTarget):
        options = tuple(option for _, option in target.options)
        key = [letter for letter, _ in target.options].index(target.key)
    draft = ItemText(
        question=text,
        options=options,
        key=key,
        kinds=("",) * len(options),
        target=values.get("target", ""),
        file=question.sample.image,
    )
    return [
        (rule.id, message)
        for rule in STEM_RULES
        if rule.level == ERROR
        for message in rule.check(draft)
    ]
