"""Stance of a sentence towards an option: asserts, doubts, merely mentions or rejects it.

Only the clause of the mention counts: "probably pneumonia, although edema is possible" asserts one
option and merely mentions the other.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from medrcube.evaluate.answer_parsing import hedging, sentence_spans

__all__ = ["OptionStance", "clause", "stance"]


class OptionStance(Enum):
    """Stance towards an option.

    Attributes:
        DENIED: it is not the answer.
        MENTIONED: a general remark, a comparison or a concession.
        DOUBTED: it may or may not be the answer.
        ASSERTED: it is present.
        CONCLUDED: everything points to it.
    """

    DENIED = auto()
    MENTIONED = auto()
    DOUBTED = auto()
    ASSERTED = auto()
    CONCLUDED = auto()


def stance(body: str, start: int, end: int) -> OptionStance:
    """Return the stance of a sentence towards a mention in it."""
    if sentence_spans.is_denied(body, start, end):
        return OptionStance.DENIED
    before, behind, contrasted = clause(body, start, end)
    if _is_only_mentioned(body, start, end, before, behind):
        return OptionStance.MENTIONED
    if hedging.DOUBT.search(f"{before} , {behind}"):
        return OptionStance.MENTIONED if contrasted else OptionStance.DOUBTED
    if _CONCLUDING.search(before) or _CONCLUDED_BEHIND.match(behind):
        return OptionStance.CONCLUDED
    return OptionStance.ASSERTED


def clause(body: str, start: int, end: int) -> tuple[str, str, bool]:
    """Return a clause's text before and after a mention, and whether "but" opens the clause.

    Text that is only compared with the mention is left out.
    """
    before = body[sentence_spans.sentence_start(body, start) : start]
    behind = body[end : sentence_spans.sentence_end(body, end)]
    contrasts = list(_CONTRAST.finditer(before))
    opened = contrasts[-1].end() if contrasts else 0
    # The concession in "although ..., it is a mass" ends at its comma.
    concedes = bool(contrasts) and _CONCEDING.match(contrasts[-1][0]) is not None
    conceded = before.find(",", opened) + 1 if concedes else 0
    closed = _CLOSING.search(behind)
    before = _AMONG.sub(" ", before[conceded or opened :])
    behind = hedging.before_rejected(behind[: closed.start()] if closed else behind)
    return before, behind, bool(contrasts) and not conceded


def _is_only_mentioned(body: str, start: int, end: int, before: str, behind: str) -> bool:
    joined = hedging.TOGETHER.match(behind)
    if (
        _COMPARED.search(before)
        or _GENERAL.match(behind, joined.end() if joined else 0)
        or _is_conceded(body, start)
    ):
        return True
    if hedging.ELSEWHERE.search(before) or hedging.AT_FIRST.search(before):
        return True
    if sentence_spans.is_hypothetical(body, start):
        return True
    if (_TOPIC.fullmatch(before) and behind.startswith(",")) or (
        _TYPICAL.fullmatch(before) and _WORD.search(behind)
    ):
        return True
    alone = _ARTICLE.fullmatch(before) is not None
    return alone and (
        _DEFINED.match(behind) is not None
        or (body[start:end].endswith("s") and _OF_MANY.match(behind) is not None)
    )


def _is_conceded(body: str, start: int) -> bool:
    """Whether the mention is in a clause that begins with "although"."""
    return _CONCESSION.search(body, sentence_spans.sentence_start(body, start), start) is not None


_CONCESSION = re.compile(
    r"\b(?:although|though|whereas|despite|albeit|even\s+if|while)\b[^,;]*$|(?:虽然|尽管|虽)[^,;]*$",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"\b(?:but|however|although|though|instead|while|whereas|yet|despite|albeit|even\s+if)\b|而(?!是)|但",
    re.IGNORECASE,
)
_CONCEDING = re.compile(
    r"(?:although|though|while|whereas|despite|albeit|even\s+if)", re.IGNORECASE
)
_AMONG = re.compile(
    r"\b(?:among|amongst|of|out\s+of|from|considering|given|between|based\s+on)\s+(?:all\s+)?(?:of\s+)?(?:the\s+|these\s+|those\s+)?(?:\w+\s+)?"
    r"(?:options|choices|possibilities)(?:\s+(?:given|provided|listed|above))?",
    re.IGNORECASE,
)
"""Phrases that refer to the set of options without expressing doubt."""
_CLOSING = re.compile(rf"{_CONTRAST.pattern}|,\s+which\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"""(?:(?<![=-])>|\b(?:than|as\s+opposed\s+to|unlike|instead\s+of|compar\w+\s+(?:to|with)|in\s+contrast\s+(?:to|with)
        |(?:distinguish\w*|differentiat\w*|differs?|distinct|different)\b[^,.;]{0,40}\bfrom|mimic\w*|(?:(?:favou?red|preferred|likely)\s+over|(?:confused|resembl\w+)\s+(?:with|to))|mistaken\s+for|compared
        |more\s+typical\s+(?:of|for)|seen\s+in|occurs?\s+in|common\s+in))\s+(?:(?:an?|the|with|in|either)\s+)*[^,.;]{0,30}$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a mention: the answer is compared with it."""

_GENERAL = re.compile(
    r"""\W*(?:\([^()]*\)\s*)?(?:would(?!\s+be\s+(?:the|my(?!\s+(?:next|second|other))|most|best|a|an)\b)|(?:is|are)\s+(?:much\s+|far\s+)?(?:less|rarer|uncommon)\b|usually|typically|often|commonly|generally|tends?|can(?:\s+also)?\s+(?:look|appear|present|cause|show|mimic|have|occur|be\s+seen))\b|相比|不同|鉴别|描述|多?(?:表现为|通常|一般|常见)""",
    re.IGNORECASE | re.VERBOSE,
)
"""After a mention: what one would expect to see in such a case."""

_TOPIC = re.compile(
    r"\W*(?:in|for|with|during|unlike|typically)\s+(?:(?:an?|the)\s+)?", re.IGNORECASE
)
_WORD = re.compile(r"\w")
_TYPICAL = re.compile(r"\W*(?:(?:an?|the)\s+)?(?:typical|classic)\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:.{0,300},\s+)?\W*(?:and\s+)?(?:(?:an?|the)\s+)?", re.IGNORECASE)
_DEFINED = re.compile(
    r"\s+(?:(?:has|have|had|shares?|lacks?|requires?|describes?|seems\s+unlikely)\b|(?:was|were)\s+(?:also\s+|only\s+)?(?:considered|suspected|excluded|ruled|thought|discarded|rejected)|is\s+(?:rare|common|out)\b)"
    r"|\s+(?:is|are)\s+(?:an?(?!\s+(?:likely|possib|probab))|defined|characteri[sz]ed|usually|typically|often|commonly|caused)\b",
    re.IGNORECASE,
)
_OF_MANY = re.compile(
    r"\s+(?:are|have|arise|show|appear|occur|do|don't|lack|present|tend)\b", re.IGNORECASE
)

_CONCLUDING = re.compile(
    r"""\b(?:(?:most|more|highly|best)\s+(?:likely|probably|consistent|compatible|suggestive|indicative|characteristic|typical|appropriate
          |suitable|fitting|accurately|closely)|probably|therefore|thus|hence|so|conclu\w+|diagnos\w+|overall|finally|in\s+summary
        |consistent\s+with|compatible\s+with|suggest\w*|indicat\w*|characteristic\s+of|typical\s+(?:of|for)|diagnostic\s+(?:of|for)
        |classic\s+for|pathognomonic|in\s+keeping\s+with|favou?r\w*|confirm\w*|point\w*\s+to(?:wards?)?|represent\w*|correspond\w*|looks?\s+like|fits|matches|depicts?|shown\s+is)\b
        |=>|->|[\u2192\u21d2]|因此|故|所以|提示|考虑|符合|诊断|(?:图中|此图|该图|本图|图像)(?:所示)?(?:的)?(?:是|为)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a mention: everything points to it."""

_CONCLUDED_BEHIND = re.compile(
    r"\s+is\s+(?:the|my)\s+(?:(?:correct|final|best|right)\s+)?(?:answer|diagnosis|choice)\b|\W*\((?:the\s+)?most\s+likely|\s+the\s+(?:most\s+likely|best|likeliest)\b"
    r"|\W*(?:\([^()]*\)\s*)?(?:is|seems|appears|remains|would\s+be)\s+(?:(?:therefore|thus|clearly|by\s+far)\s+)*(?:the|my)?\s*(?:most|best|more|likely|favou?red)\b",
    re.IGNORECASE,
)
