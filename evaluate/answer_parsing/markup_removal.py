"""Strip markup from a reply: Markdown, LaTeX, HTML, JSON and typographic letter variants."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any, NamedTuple

from medrcube.evaluate.answer_parsing.json_objects import json_objects

__all__ = ["FIELD_NAMES", "AnswerFields", "lift_fields", "strip_markup"]


class AnswerFields(NamedTuple):
    """Answers in structured fields of a reply.

    Attributes:
        values: (position, rule, value) of each field, by position.
        rest: the reply with those fields blanked out; positions are unchanged.
    """

    values: list[tuple[int, str, str]]
    rest: str


def lift_fields(text: str) -> AnswerFields:
    """Extract JSON objects with an answer field, ``<answer>`` elements and boxes from a reply."""
    values: list[tuple[int, str, str]] = []
    rest = text
    for start, end, content in list(json_objects(rest)):
        inner = _JSON_KEY.sub(lambda match: " " * len(match[0]), rest[start:end])
        value = _field(content)
        if value is not None:
            values.append((start, "json", value))
            inner = " " * (end - start)
        rest = rest[:start] + inner + rest[end:]
    if "<" in rest or "[" in rest:
        values += [
            (match.start(), "element", match["value"] or match["bracketed"] or match["box"] or "")
            for match in _ELEMENT.finditer(rest)
        ]
        rest = _ELEMENT.sub(lambda match: " " * len(match[0]), rest)
    for start, end, value in _boxes(rest):
        values.append((start, "boxed", value))
        rest = rest[:start] + " " * (end - start) + rest[end:]
    return AnswerFields(sorted(values), rest)


def strip_markup(text: str) -> str:
    """Return plain text: compatibility forms and accents folded, markup removed, case unchanged.

    Struck-out text is removed. A table row becomes a line with colons between its cells.
    """
    # Most replies have little markup: a rule runs only if a character that it needs is there.
    if text.count("\n") >= _FEWEST_LINES - 1:
        text = _BLOCK.sub(_with_bold_ticked, text)
    text = html.unescape(text)
    if "<" in text or "~~" in text:
        text = _STRUCK.sub(" ", _TAG.sub(" ", text))
    text = text.translate(_ASCII) if text.isascii() else _without_variants(text)
    if "\\" in text:
        text = _COLOUR.sub(" ", text)
    if "|" in text:
        text = _TABLE_ROW.sub(_cells, text)
    if "\\" in text:
        text = _without_wrappers(text)
    text = _DELIMITER.sub(" ", text)
    text = _HEADING.sub("", text)
    if "[" in text:
        text = _TICKED.sub("\u2705 ", _UNTICKED.sub("\u274c ", text))
    if "\u00d7" in text:
        text = _CROSSED.sub(" \u2717", text)
    return _BLANKS.sub(" ", text).strip()


def _without_wrappers(text: str) -> str:
    """Return the text without LaTeX commands around a part of it, however deeply nested."""
    previous = None
    while previous != text:
        previous, text = text, _WRAPPER.sub(r"\1", text)
    return text


def _without_variants(text: str) -> str:
    """Return the text without typographic variants, accents and control characters."""
    text = _ACCENT.sub(r"\1", unicodedata.normalize("NFKD", text.translate(_STOPS)))
    text = unicodedata.normalize("NFKC", text).translate(_TRANSLATION)
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cf"})


_STOPS = str.maketrans({"\uff0c": "; ", "\uff1b": "; ", "\uff01": "! ", "\uff1f": "? "})
_TRANSLATION = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2032": "'",
        "\u300c": '"', "\u300d": '"', "\u3010": "[", "\u3011": "]", "\u3002": ". ",
        "\u3001": ",", "\u2044": "/", "*": None, "`": None, "$": None, "_": " ", "~": None,
        **{chr(0x1F170 + index): chr(0x41 + index) for index in range(26)},
        **{chr(0x1F150 + index): chr(0x41 + index) for index in range(26)},
    }
)  # fmt: skip
_ASCII = {
    **{code: None for code in (*range(0x20), 0x7F) if chr(code) not in "\n\t"},
    **{code: into for code, into in _TRANSLATION.items() if code < 0x80},
}
"""What ``_without_variants`` does to ASCII text, which has neither accents nor variants."""
_TAG = re.compile(
    r"<\|[^|<>]{1,40}\|>"
    r"|</?(?:s|eos|bos|pad|image|end_of_turn|start_of_turn|end_of_utterance|end_of_sentence)>"
    r"|</?(?:b|i|u|p|br|hr|em|strong|span|div|li|ul|ol|h\d|code|pre|sub|sup|html|head|body|main|mark"
    r"|section|article|font|center|small|big|label|blockquote|table|thead|tbody|tr|td|th|dl|dt|dd)\b"
    r"[^<>]{0,200}>"
)
# A combining mark after a Latin letter only: elsewhere it forms a different letter.
_ACCENT = re.compile("([A-Za-z])[\u0300-\u036f]+")
_STRUCK = re.compile(r"~~[^~\n]{1,500}~~|<(del|strike)>[^<>]{0,500}</\1>")
_COLOUR = re.compile(r"\\(?:text)?color\s*\{[^{}\n]{0,40}\}")
_FEWEST_LINES = 3
_BLOCK = re.compile(
    rf"(?:^[ \t]*(?:\*\*)?\(?[A-H][.)][^\n]{{1,200}}(?:\n|\Z)){{{_FEWEST_LINES},10}}", re.MULTILINE
)
_BOLD_LINE = re.compile(r"[ \t]*\*\*[^*]+\*\*[ \t]*")
_TABLE_ROW = re.compile(r"^[ \t]*\|([^\n]*?)\|?[ \t]*$", re.MULTILINE)
_WRAPPER = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathsf|mathit|mathbb|emph|bm|bf|rm"
    r"|boldsymbol|operatorname|underline|uline|emph)\s*\{([^{}]*)\}"
)
_DELIMITER = re.compile(r"\\[()\[\],;!]|\\(?:quad|qquad|,)|[{}]")
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}|>+|[-+\u2022])[ \t]+", re.MULTILINE)
_TICKED = re.compile(r"^[ \t]*\[[xX\u2713\u2714]\][ \t]+", re.MULTILINE)
_UNTICKED = re.compile(r"^[ \t]*\[ \][ \t]+", re.MULTILINE)
# Chinese answer keys mark wrong options with a multiplication sign.
_CROSSED = re.compile(r"(?<=[A-Z])[ \t]*\u00d7(?=\s*(?:$|\n|[A-Z](?![a-z])))")
_BLANKS = re.compile(r"[ \t\u00a0]+")

FIELD_NAMES = frozenset(
    {
        "answer", "answerchoice", "answerletter", "answeroption", "answers", "bestanswer",
        "choice", "chosenanswer", "chosenoption", "conclusion", "correctanswer", "correctchoice",
        "correctoption", "decision", "final", "finalanswer", "finalchoice", "finaldecision",
        "letter", "option", "optionletter", "output", "predictedanswer", "predictedoption",
        "prediction", "response", "result", "selected", "selectedanswer", "selectedchoice",
        "selectedletter", "selectedoption", "selection", "verdict",
    }
)  # fmt: skip
"""Names of an answer field in an object: letters only, case-folded."""

_TEXT_NAMES = ("text", "answertext", "optiontext", "choicetext", "answervalue", "content")
_ELEMENT = re.compile(
    r"<(?P<name>answer|final_answer|finalanswer|conclusion|choice|option|response|output|final|result|decision)>(?P<value>.{0,2000}?)</(?P=name)>"
    r"|\[answer\](?P<bracketed>.{0,2000}?)\[/answer\]|<\|begin_of_box\|>(?P<box>.{0,2000}?)<\|end_of_box\|>",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_BOX = 500
_JSON_KEY = re.compile(r'"[^"\n]*"\s*:')
_BOX = re.compile(r"(?:\\f?|\x08|\\\\|\b)(?:boxed|oxed|fbox)\s*\{")


def _with_bold_ticked(block: re.Match[str]) -> str:
    """Return a list of options with a tick on the only bold one."""
    lines = block[0].split("\n")
    bold = [index for index, line in enumerate(lines) if _BOLD_LINE.fullmatch(line)]
    if len(bold) == 1:
        lines[bold[0]] += " \u2705"
    return "\n".join(lines)


def _cells(row: re.Match[str]) -> str:
    cells = [cell.strip() for cell in row[1].split("|")]
    return "" if not any(cell.strip("-: ") for cell in cells) else ": ".join(cells)


def _field(value: Any) -> str | None:
    """Return the answer in an object, with the text next to its letter; ``""`` if unsupported."""
    if not isinstance(value, dict):
        return None
    names = {re.sub(r"[^a-z]", "", str(name).casefold()): name for name in value}
    for plain_name, name in reversed(names.items()):
        if plain_name in FIELD_NAMES:
            content = value[name]
            single = content[0] if isinstance(content, list) and len(content) == 1 else content
            nested = _field(single)
            if nested is not None:
                return nested
            # A number may be 0-based or 1-based, so it is kept unchanged and refers to no option.
            text = next((value[names[key]] for key in _TEXT_NAMES if key in names), None)
            beside = isinstance(single, str) and len(single) == 1 and isinstance(text, str)
            return f"{single}: {text}" if beside else single if isinstance(single, str) else ""
    true_names = [name for name, content in value.items() if content is True]
    if len(true_names) == 1 and all(len(n) == 1 and isinstance(c, bool) for n, c in value.items()):
        return str(true_names[0])
    inner = [answer for content in value.values() if (answer := _field(content)) is not None]
    return inner[0] if len(inner) == 1 else None


def _boxes(text: str) -> list[tuple[int, int, str]]:
    r"""Return (start, end, content) of every ``\boxed{...}`` with balanced braces."""
    boxes: list[tuple[int, int, str]] = []
    if "{" not in text:
        return boxes
    for match in _BOX.finditer(text):
        depth, end = 1, match.end()
        limit = min(len(text), end + _LONGEST_BOX)
        while end < limit and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if not depth:
            boxes.append((match.start(), end, text[match.end() : end - 1]))
    return boxes
