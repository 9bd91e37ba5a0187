"""Requirements on an item at import, on which pages, tables and releases rely.

A table may have been edited by hand or written by another program, so it is untrusted input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.review.errors import InvalidAnswerError
from medrcube.review.exchange.open_rows import OpenRow
from medrcube.review.reviewing.edits import Edit, check_edit
from medrcube.review.wording.lint_facts import facts_of_row

__all__ = ["LONGEST_TEXT", "UNFIT", "item_fault", "printable"]

LONGEST_TEXT = 10_000
"""Maximum number of characters of a question or option."""

# Control characters mean nothing to a reviewer; PostgreSQL cannot store NUL, and neither database
# can store an unpaired surrogate.
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_ID = re.compile(r"[0-9A-Za-z_.-]{1,64}")
_LENGTHS = {"source": 64, "task": 64, "anatomy": 32, "modality": 32}
_LONGEST_STRATUM = 160


def item_fault(item: ChoiceItem, samples: Container[str]) -> str:
    """Return why an item is refused; empty if it is accepted.

    Args:
        item: the item as in its table.
        samples: ids of the existing images.
    """
    return next(filter(None, (rule(item, samples) for rule in _RULES)), "")


def _bad_id(item: ChoiceItem, _: Container[str]) -> str:
    if _ID.fullmatch(item.id) and item.id.strip("."):
        return ""
    return "its id is not made of 1 to 64 letters, digits, dots, dashes and underscores"


def _bad_texts(item: ChoiceItem, _: Container[str]) -> str:
    for name, text in _texts(item):
        if not isinstance(text, str):
            return f"{name}: is {type(text).__name__}, expected text"
        if UNFIT.search(text):
            return f"{name}: contains a control character"
        longest = _LENGTHS.get(name, LONGEST_TEXT)
        if len(text) > longest:
            return f"{name}: {len(text)} characters, at most {longest}"
    if len(f"{item.modality} | {item.task} | {item.strategy}") > _LONGEST_STRATUM:
        return f"modality, task and strategy together have more than {_LONGEST_STRATUM} characters"
    return ""


def _no_picture(item: ChoiceItem, samples: Container[str]) -> str:
    if item.sample not in samples:
        return f"its image {printable(item.sample)} is not in the table of samples"
    return ""


def _broken_rule(item: ChoiceItem, _: Container[str]) -> str:
    if isinstance(item, OpenRow):  # item rules concern distractors chosen by a build
        return ""
    if not 2 <= len(item.options) <= 4:
        return f"{len(item.options)} options, expected 2 to 4"
    texts = tuple(option.text for option in item.options)
    change = Edit(question=item.question, options=texts, key=item.key, note="")
    try:
        check_edit(change, facts_of_row(item))
    except InvalidAnswerError as error:
        return f"breaks an item rule: {error}"
    return ""


_RULES: tuple[Callable[[ChoiceItem, Container[str]], str], ...] = (
    _bad_id,
    _bad_texts,
    _no_picture,
    _broken_rule,
)


def _texts(item: ChoiceItem) -> Iterator[tuple[str, object]]:
    for name in (*_LENGTHS, "question", "strategy", "field", "concept", "group", "sample"):
        yield name, getattr(item, name)
    for place, option in enumerate(item.options):
        yield f"option {place}", option.text
        for name in ("concept", "strategy", "grade", "named_by", "word", "difficulty"):
            yield f"option {place}: {name}", getattr(option, name)
        yield from ((f"option {place}: id", text) for text in (*option.ids, *option.versions))
    yield from (("warning", text) for text in item.warnings)


def printable(text: object) -> str:
    """Return an external string in a form that is safe in a message."""
    return UNFIT.sub("?", str(text))[:200]
