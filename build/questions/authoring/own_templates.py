"""Check of question templates against the item-writing rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from jinja2 import TemplateError as JinjaError

from medrcube.build.questions.authoring.occasions import occasions
from medrcube.build.questions.question_wording import wording_context, wording_values
from medrcube.ontologies.item_rules import ERROR, ItemText
from medrcube.ontologies.item_rules.stem import STEM_RULES
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task
from medrcube.templates import TemplateError, Wordings, package_wordings

__all__ = ["check_wordings", "render_wording", "wordings_of"]

_UNDEFINED = re.compile(r"'(\w+)' is undefined")


def wordings_of(folder: str, cards: Iterable[Card]) -> Wordings:
    """Load the wordings of a workspace and render each for every occasion of its sources.

    Args:
        folder: path of the templates; empty for those of the package.
        cards: cards of the workspace's sources.

    Raises:
        TemplateError: a template uses a value that its task lacks, breaks an item-writing rule, or
            distinguishes images of one block; the message names file and line.
    """
    if not folder:
        return package_wordings()
    wordings = Wordings(Path(folder))
    check_wordings(wordings, wordings.own, cards)
    return wordings


def check_wordings(wordings: Wordings, tasks: Collection[Task], cards: Iterable[Card]) -> None:
    """Render every wording of some tasks for every occasion of some sources.

    Raises:
        TemplateError: see ``wordings_of``.
    """
    terms, relations = load_terms(), load_relations()
    question_of: dict[tuple[Task, str, str], str] = {}
    for occasion in occasions(cards, terms, relations):
        query = occasion.query
        if query.task not in tasks:
            continue
        values = wording_values(query, terms, relations, occasion.labels)
        for name in wordings.variants(query.task):
            question = render_wording(wordings, query.task, name, values)
            _check_stem(wordings, query.task, name, question)
            key = (
                query.task,
                name,
                f"{wording_context(query)}|{query.group}|{values.get('normal')}",
            )
            if "target" not in values and question_of.setdefault(key, question) != question:
                raise TemplateError(
                    f"{wordings.where(query.task, name)}: {question!r} and {question_of[key]!r} "
                    "are asked of images that share their options; the words must not tell them "
                    "apart"
                )


def render_wording(
    wordings: Wordings, task: Task, name: str, values: Mapping[str, str | bool]
) -> str:
    """Render a question in one wording.

    Raises:
        TemplateError: it uses a value that its task lacks; names file, line and values.
    """
    try:
        return wordings.render(task, name, **values)
    except JinjaError as error:
        match = _UNDEFINED.search(str(error))
        place = wordings.where(task, name, match.group(1) if match else "")
        names = ", ".join(sorted(values)) or "none"
        raise TemplateError(f"{place}: {error}; values of {task}: {names}") from None


def _check_stem(wordings: Wordings, task: Task, name: str, question: str) -> None:
    draft = ItemText(question=question, options=("\x00", "\x01"), key=0, kinds=("", ""))
    for rule in STEM_RULES:
        for message in rule.check(draft) if rule.level == ERROR else ():
            raise TemplateError(
                f"{wordings.where(task, name)}: {question!r} breaks the rule {rule.id}: {message}"
            )
