"""Option lists in a reply: restated ones contain no answer, judged ones may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import answer_phrases
from medrcube.evaluate.answer_parsing.answer_phrases import CASED
from medrcube.evaluate.answer_parsing.choice_reader import ChoiceKind, ChoiceMatch, ChoiceReader
from medrcube.evaluate.answer_parsing.option_text import EDGES

__all__ = [
    "JudgedList",
    "begins_with_list",
    "blank_rejected_options",
    "blank_restated_options",
    "judged_list",
]


class JudgedList(NamedTuple):
    """A list with a verdict on each option.

    Attributes:
        start: start of the list.
        end: end of the list.
        choice: the only option judged correct; undecided if there are several, nothing if none.
    """

    start: int
    end: int
    choice: ChoiceMatch


def blank_restated_options(body: str, reader: ChoiceReader) -> str:
    """Blank out restated options; positions are unchanged."""
    for run in _runs(body, reader):
        if len(run) < _FEWEST:
            continue
        for index, (_, start, end) in enumerate(run):
            before = body[run[index - 1][2] : start] if index else None
            after = body[end : run[index + 1][1]] if index + 1 < len(run) else None
            if any(gap is not None and _near(gap) for gap in (before, after)):
                body = body[:start] + " " * (end - start) + body[end:]
        last, _, end = run[-1]
        cut = _CUT_OFF.match(body, end)
        if cut and ord(cut["letter"]) == ord(last) + 1:
            body = body[:end]
    return body


def blank_rejected_options(body: str) -> str:
    """Blank out the list under "Why the other options are wrong:"; positions are unchanged."""
    if "\n" not in body:
        return body
    return _REJECTED.sub(lambda match: match["kept"] + " " * len(match["list"]), body)


def judged_list(body: str, reader: ChoiceReader) -> JudgedList | None:
    """Return the last list in which at least two options have their own verdict."""
    judged = None
    for heads in _headed(body, reader):
        verdicts = [_verdict(body, *head, reader) for head in heads]
        ticked = len(heads) > _FEWEST and any(
            _MARK.search(body, start, end) for _, start, end in heads
        )
        if len([verdict for verdict in verdicts if verdict is not None]) < _FEWEST - ticked:
            continue
        right = [head for head, verdict in zip(heads, verdicts, strict=True) if verdict]
        if len(right) == 1:
            choice = ChoiceMatch(ChoiceKind.LETTER, right[0][0], right[0][2])
        else:
            choice = ChoiceMatch(
                ChoiceKind.UNDECIDED if right else ChoiceKind.NOTHING, None, heads[-1][2]
            )
        judged = JudgedList(heads[0][1], heads[-1][2], choice)
    return judged


def begins_with_list(body: str, reader: ChoiceReader) -> bool:
    """Whether the text starts with a list of the options."""
    heads = next(_headed(body, reader), [])
    if len(heads) < _FEWEST or body[heads[0][1] : heads[1][1]].strip(EDGES).upper() == heads[0][0]:
        return False
    return not _WORD.search(body[: heads[0][1]])


def _runs(body: str, reader: ChoiceReader) -> Iterator[list[tuple[str, int, int]]]:
    """Yield (letter, start, end) of options with their texts, in ascending order of letters."""
    run: list[tuple[str, int, int]] = []
    for match in _LIST_HEAD.finditer(body):
        end = reader.texts.beside(body, match.end("letter"), match["letter"])
        if end is None or (not match["mark"] and _IN_SENTENCE.match(body, end)):
            continue
        if answer_phrases.DECLARATION.search(
            body, body.rfind("\n", 0, match.start()) + 1, match.start()
        ):
            if run:
                yield run
            run = []
            continue
        between = body[run[-1][2] : match.start()] if run else ""
        if run and (
            ord(match["letter"]) != ord(run[-1][0]) + 1
            or answer_phrases.DECLARATION.search(between)
        ):
            yield run
            run = []
        run.append((match["letter"], match.start(), end))
    if run:
        yield run


def _headed(body: str, reader: ChoiceReader) -> Iterator[list[tuple[str, int, int]]]:
    """Yield (letter, start, end of part) of parts that each begin with the next letter."""
    heads = [m for m in _HEAD.finditer(body) if m["letter"].upper() in reader.letters]
    run: list[re.Match[str]] = []
    for head in heads:
        if run and head["letter"].upper() <= run[-1]["letter"].upper():
            yield _parts(body, run, head.start())
            run = []
        run.append(head)
    if run:
        yield _parts(body, run, len(body))


def _parts(body: str, run: list[re.Match[str]], end: int) -> list[tuple[str, int, int]]:
    ends = [match.start() for match in run[1:]] + [end]
    parts = []
    for match, stop in zip(run, ends, strict=True):
        paragraph = body.find("\n\n", match.end(), stop) if stop == end else -1
        parts.append((match["letter"].upper(), match.start(), stop if paragraph < 0 else paragraph))
    return parts


def _verdict(body: str, letter: str, start: int, end: int, reader: ChoiceReader) -> bool | None:
    """Return a list entry's verdict on its option."""
    part = body[start : min(end, start + _LONGEST_PART)]
    head = _HEAD.match(part)
    inside = head.end("letter") if head else 0
    own = reader.texts.beside(part, inside, letter)
    rest = part[own or inside :]
    line = part.split("\n", maxsplit=2)[1 if part.startswith("\n") else 0]
    marks = {mark in _TICKS for mark in _MARK.findall(line)}
    if len(marks) == 1:
        return marks.pop()
    if opening := _OPENING_VERDICT.match(rest):
        return opening["right"] is not None
    if closing := _CLOSING_VERDICT.search(rest.strip(" \n,;.")):
        return (closing["right"] or closing["zh"]) is not None
    return None


def _near(gap: str) -> bool:
    return "\n" in gap or not gap.strip(EDGES)


_REJECTED = re.compile(
    r"(?P<kept>(?:^|\n)[^\n:]{0,50}(?:\b(?:other|remaining|incorrect|wrong|rejected|excluded|alternative|why\s+not)\b"
    r"|其他|其余|错误|排除)[^\n:]{0,80}:[^\S\n]*\n+)"
    r"(?P<list>[(\[]?[A-Z][.):\]][^\n]*(?:\n+[(\[]?[A-Z][.):\]][^\n]*)*)",
    re.IGNORECASE,
)
_FEWEST = 2
# A list of options that breaks off after a letter.
_CUT_OFF = re.compile(r"\s*\n[\s(]*(?P<letter>[A-Z])[.):]\s*$")
_LONGEST_PART = 1500
_TICKS = "\u2705\u2713\u2714\u2611\u2b55\U0001f7e2\u221a"
_CROSSES = "\u274c\u2717\u2718\u2715\u274e\u2716\u2612\U0001f534\U0001f6ab\u2610\u25a1\u2b1c"
_MARK = re.compile(rf"[{_TICKS}{_CROSSES}]")
_WORD = re.compile(r"\w")
_LIST_HEAD = re.compile(rf"(?<![{CASED}])(?P<letter>[A-Z])(?P<mark>[)\].:]?)\s*(?=\S)")
# "A CT would show ..." is not a list item.
_IN_SENTENCE = re.compile(r"[ \t]+[a-z]")
_HEAD = re.compile(
    rf"(?:^|[\n.;,!|:)]|(?=\([A-Z]\))|(?<=[{_TICKS}{_CROSSES}]))[ \t]*"
    rf"(?:[{_TICKS}{_CROSSES}]\ufe0f?[ \t]*)?(?:\d[.)][ \t]*)?"
    rf"(?:(?i:option|choice|选项)[ \t]*)?[(\[]?(?P<letter>[A-Z]|[a-d](?=[.):]))"
    rf"(?:(?<=[{_TICKS}{_CROSSES}] [A-Z])(?=\s*(?:$|\n))|(?=[)\].:?]|[ \t]*->|"
    rf"[ \t]*[:=\u2192\u21d2\u2013\u2014({_TICKS}{_CROSSES}-]|[^\x00-\u024f]"
    r"|[ \t]+(?i:correct|incorrect|true|false|yes|no|wrong|right)\b))"
)
_RIGHT = (
    r"(?:(?:(?:very|highly|most)\s+)?likely|correct|right|true|yes|best\s+(?:fit|match|answer|choice|option)|(?:the\s+)?(?:correct|best)\s+(?:answer|choice|option)"
    r"|fits|matches|most\s+likely|selected|对|對|正确|正確|符合)"
)
_WRONG = (
    r"(?:incorrect|wrong|false|no|not\s+(?:correct|right|true|likely|consistent|supported|seen|present|visible|the\s+(?:case|answer))|none"
    r"|ruled\s+out|excluded|eliminated|rejected|unlikely|very\s+unlikely|less\s+likely|possible|plausible|absent|inconsistent"
    r"|does\s+not\s+(?:fit|match)|doesn't\s+(?:fit|match)|错误?|錯誤?|不(?:对|對|正确|正確|符合|是)|排除)"
)
_OPENING_VERDICT = re.compile(
    rf"[\s.:?)\](,\u2013\u2014>=\u2192-]*(?:(?:this|it)\s+is\s+|is\s+)?(?:(?P<right>{_RIGHT})|{_WRONG})(?:[\u4e00-\u9fff]{{0,4}})(?=\s*(?:$|[.,;:!)(\n\u2013\u2014]|-(?!\w)|because|since|as\b|due))",
    re.IGNORECASE,
)
_CLOSING_VERDICT = re.compile(
    rf"\b(?:this|it|that|which)(?:\s+(?:option|choice|answer|one))?(?:\s+(?:is|seems|makes\s+it))?(?:\s+(?:therefore|thus|the|clearly))*\s+"
    rf"(?:(?P<right>{_RIGHT})|{_WRONG})[.!)]?$|[;,]\s*(?:故|所以|因此|该选项|此项|为)?(?:(?P<zh>正确|符合)|错误|不正确|不?符合|排除)$",
    re.IGNORECASE,
)
