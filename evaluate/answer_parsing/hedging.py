"""Regular expressions for negation, doubt, hypothesis and revision around an answer.

They are case-insensitive and are applied to the output of ``markup_removal.strip_markup``.
"""

from __future__ import annotations

import re

__all__ = [
    "ALSO",
    "AT_FIRST",
    "COMPARATIVE",
    "CONDITION",
    "CONSIDERED",
    "DENIED_AFTER",
    "DENIED_MENTION",
    "DENIED_TARGET",
    "DOUBT",
    "ELSEWHERE",
    "HYPOTHETICAL",
    "LESSER",
    "LIKELIER",
    "OPEN_ANSWER",
    "POSSIBLE_AFTER",
    "RESOLVED",
    "REVISION",
    "SEEMING",
    "TOGETHER",
    "TOO",
    "UNREAL",
    "WOULD_BE",
    "before_rejected",
    "clause_before",
    "denied_behind",
    "is_asserted",
    "is_first_view",
    "is_weakened",
    "without_idioms",
]


def clause_before(text: str, end: int) -> str:
    """Return the clause before a position, without the polite "if I had to choose"."""
    clause = text[max(0, end - 200) : end]
    clause = _POLITE.sub("", clause)
    return _CLAUSE_END.split(clause)[-1]


def is_asserted(clause: str) -> bool:
    """Whether the clause asserts what follows: in the present, about this case, by the speaker."""
    return not any(pattern.search(clause) for pattern in (_NOT_BEFORE, AT_FIRST))


def is_first_view(text: str, end: int, *, seeming: bool) -> bool:
    """Whether the words after a statement limit it to a first impression: "C fits at first".

    Args:
        text: the text.
        end: end of the statement.
        seeming: whether it only says what seems so; then it shares the adverb of a clause that
            "and" joins to it.
    """
    pattern = _FIRST_VIEW_OF_ALL if seeming else _FIRST_VIEW
    return pattern.match(text, end) is not None


def is_weakened(text: str, start: int, end: int) -> bool:
    """Whether the clause of a statement concedes it, or calls it merely possible."""
    return (
        _CONCEDED.search(text, max(0, start - 200), start) is not None
        or _PERHAPS.search(clause_before(text, start)) is not None
        or _PERHAPS_BEHIND.match(text, end) is not None
    )


def without_idioms(text: str) -> str:
    """Replace idioms that only sound like negation or doubt by plain words."""
    lower = text.lower() if text.isascii() else None
    for words, idiom, plainly in _IDIOMS:
        if lower is None or any(word in lower for word in words):
            text = idiom.sub(plainly, text)
    return text


def denied_behind(text: str, end: int) -> bool:
    """Whether the text directly after a position negates it, alone or with others."""
    joined = TOGETHER.match(text, end)
    return DENIED_AFTER.match(text, end) is not None or (
        joined is not None and DENIED_AFTER.match(text, joined.end()) is not None
    )


def before_rejected(text: str) -> str:
    """Return the text before "rather than"; the rest is not asserted."""
    return _REJECTED.split(text, maxsplit=1)[0]


_IDIOMS = (
    (
        ("doubt", "question"),
        re.compile(
            r"\b(?:there(?:'s|\s+is)\s+)?(?:no|without(?:\s+an?y?)?|beyond(?:\s+an?y?)?)\s+"
            r"(?:reasonable\s+|shadow\s+of\s+a\s+)?(?:doubt|question)\b(?!\s+about)(?:\s+that\b)?[,:]?",
            re.IGNORECASE,
        ),
        "clearly",
    ),
    (
        ("anything",),
        re.compile(
            r"\bcan(?:'t|not|\s+not)\s+be\s+anything\s+(?:other\s+than|but|else\s+than)\b",
            re.IGNORECASE,
        ),
        "is",
    ),
    (("nothing",), re.compile(r"\bnothing\s+(?:other\s+than|but)\b", re.IGNORECASE), "only"),
    (("not",), re.compile(r"\bnot\s+only\b(?![^.;\n]*\bbut\b)", re.IGNORECASE), " "),
)
"""Idioms, each with the words of which an ASCII text needs one, and what it says plainly."""
_REJECTED = re.compile(
    r"\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to|unlike|without|with\s+no|not)\b|>",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"\bif\s+(?:i|we|one)\s+(?:(?:had|have|were|was|am)\s+to|must|should|could\s+only)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[.;:,!?\n\uff0c而]|\b(?:but|however|although|though|yet|and|so|therefore|hence)\b",
    re.IGNORECASE,
)

AT_FIRST = re.compile(
    r"\b(?:initial(?:ly)?|originally|(?:at\s+)?first\s+(?:glance|thought|said|guess\w*|answer|impression|sight)|at\s+first|previously|earlier)\b|乍看|初看|起初|一开始|最初",
    re.IGNORECASE,
)
"""Before a letter or text in its clause: a first impression, before looking closer."""

_GLANCE = r"""(?:at\s+first|initially|originally|to\s+begin\s+with|at\s+a\s+glance
  |(?:at|on|upon)\s+(?:a\s+)?(?:first|quick|casual|cursory)\s+(?:glance|look|sight|view|reading|inspection|impression))
  \s*(?:$|[.;:,!?\n)]|\b(?:and|but|however|yet|although|though)\b)"""
_FIRST_VIEW, _FIRST_VIEW_OF_ALL = (
    re.compile(
        rf"(?:(?!\b(?:{stops}but|however|yet|although|though|while|as)\b)[^.;:,!?\n()]){{0,60}}?\b{_GLANCE}",
        re.IGNORECASE | re.VERBOSE,
    )
    for stops in ("and|", "")
)
_CONCEDED = re.compile(
    r"(?:\b(?:although|though|even\s+(?:though|if)|albeit|despite)\b|(?:^|[.!?;\n])\W*while\b)[^.;:,!?\n]*$",
    re.IGNORECASE,
)
_PERHAPS = re.compile(r"\b(?:perhaps|maybe|possibly|conceivably)\b", re.IGNORECASE)
_PERHAPS_BEHIND = re.compile(r"\s*,?\s*(?:perhaps|maybe|possibly)\b", re.IGNORECASE)

SEEMING = re.compile(r"\b(?:seems?|appears?|looks?)\b", re.IGNORECASE)
"""In a verdict: what it says only seems so."""

COMPARATIVE = re.compile(r"\b(?:most|more|better|best)\b", re.IGNORECASE)
"""In a verdict: the option is preferred to the others."""

ELSEWHERE = re.compile(
    r"""有人|别人|不少人|很多人|初学者|误(?:认|诊|选)|\b(?:mistak\w*|tempt\w*|distractor|trap|pitfall|someone|some\s+(?:authors|doctors|people|readers|students|radiologists|would|may|might)|students?
      |(?:many|others?|most|few|people|they|one|you|candidates|readers)(?:\s+(?:people|readers|candidates|models|doctors))?
        \s+(?:would|might|may|could|will|tend|also|choose|pick|say|answer|select)
      |(?:similar|another|other|different|previous|prior|next|earlier)\s+(?:question|case|item|image|patient|example|report|exam\w*|study|scan)s?
      |(?:you|user|colleagues?|he|she|they|textbook|caption|filename|file\s+name|label|hint|note|report)\s+
        (?:wrote|writes|said|says|claim(?:s|ed)?|state[sd]?|reads?|thinks?|thought|mention(?:s|ed)?|suggest(?:s|ed)|ha[sd])
      |according\s+to\s+(?:you|the\s+(?:user|caption|file|label))|though\s+labell?ed
      |clinical(?:ly)?\s+(?:question|suspicion|suspected)|(?:was|were)\s+suspected)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a letter or text in its clause: somebody else's view, or about another question."""

_NOT_BEFORE = re.compile(
    rf"""(?:{ELSEWHERE.pattern}[^.;:,\n]*$|\b(?:not|never|no\s+longer|nothing|cannot|doubt\w*|hardly|wrong|incorrect|incorrectly|misread\w*
        |if|whether|unless|suppose|supposing|assum\w*|might|could|may|anything
        |another|type|grade|group|class|stage|hepatitis|vitamin|labell?ed|marked|possibilit\w+|differential|complication|cause|example|e\.g|instead\s+of|rather\s+than|format|less|followed)\b|n't\b|不|非|并非|无法|無法|难以)[^.;:,\n]*$
      |\b(?:second|third|fourth|2nd|3rd|4th)[\s-]+(?:(?:most|more|next|best|likely|probable|plausible|possible|strongest|closest)\s+){{1,3}}$
      |\b(?:each|every|any|common|second|third|fourth|last|next|other|another|alternative|backup|runner-up|worst|2nd|3rd|4th|least\s+likely)\s+(?:\w+\s+)?$|(?:还是|還是|或者?)$""",
    re.IGNORECASE | re.VERBOSE,
)
"""In the clause before an announcement: the announcement is not meant."""

DENIED_TARGET = re.compile(
    r"(?:(?:clearly|definitely|certainly|probably|likely|surely|most)\s+)*"
    r"(?:not?\b|n't\b|neither\b|never\b|isn't\b|wasn't\b|incorrect\b|wrong\b|不是|不选|不為|不为|非|아니)",
    re.IGNORECASE,
)
"""Directly after an announcement: it states what the answer is not."""

DENIED_AFTER = re.compile(
    r"""[ :)\]"'(\u2013\u2014-]*
        (?:incorrect|wrong|false|no(?=\s*(?:[,.;]|$|\n))|ruled\s+out|excluded|eliminated
        |unlikely|less\s+likely|impossible|inconsistent
        |is\s+out\b|absent\b|isn't|cannot|can't|wasn't|✗|✘|❌
        |(?:选?项)?(?:均|都|皆)?(?:错误|錯誤|不正确|不正確|不对|不符合?|不支持|不考虑|可排除)
        |的?可能性(?:较|更|不|很|极)?(?:小|低|大(?<=不大))|不是(?!\s*[A-Z])|ではな|가?\s*아니)
      |[ :)\]"']*(?:is|was|are|were|seems|would\s+be|can\s+be|has\s+been|looks|appears)\s+
        (?:(?:also|clearly|definitely|therefore|very|most|highly)\s+)*
        (?:incorrect|wrong|false|not\b|ruled\s+out|excluded|eliminated|unlikely|less\s+likely|impossible|out\b|absent|empty|clear|spared|unaffected|no\s+longer|never)
      |[ ]+or\s+not\b|[ ]+(?:only\s+)?(?:if|unless|when|were)\b|\s*\?""",
    re.IGNORECASE | re.VERBOSE,
)
"""Directly after a letter or an option's text: negated, conditional or a question."""

POSSIBLE_AFTER = re.compile(
    r"\s+(?:(?:is|are|remains|would\s+be)\s+(?:also\s+|still\s+)?(?:possible|plausible|conceivable|an?\s+(?:possibility|differential|option))"
    r"|may|might|could)\b",
    re.IGNORECASE,
)
"""Directly after a letter that is hinted at: merely possible."""

TOGETHER = re.compile(
    r"(?:(?:,|,?\s+(?:and|or|nor))\s+(?!(?:and|or|nor|whereas|while|but|so|which|then|not|since|because|as|given|however|here)\b)[^.;:,\n()]{1,40}?){1,3}(?=\s+(?:are|were|can|both|would|usually|typically|often)\s)|(?:[,和及与][^.;:\n]{1,20}?){1,3}(?:都|均)",
    re.IGNORECASE,
)
"""Directly after a letter or text: others that the same is said about."""

OPEN_ANSWER = re.compile(
    r"""(?:(?:either|both|any|all|none|neither|nothing|unknown|unclear|uncertain|indetermin\w*|undetermin\w*|unsure
      |ambiguous|impossible|inconclusive|n/a|null|cannot|can't|can\s+not|could\s+not|unable|not\s+(?:sure|clear|possible|determin\w+|certain|known|available|listed|given|among|in)
      |difficult|hard\s+to|probably\s+none|无法|無法|不确定|不明)\b|\?)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Directly after an announcement: the answer is left open."""

REVISION = re.compile(
    r"""\b(?:actually|wait|correction|scratch\s+that|hold\s+on|hmm|on\s+(?:second\s+thought|reflection|review|closer)
      |upon\s+(?:review|reflection|closer)|let\s+me\s+re\w*|i\s+(?:was\s+wrong|meant|mean|take\s+that\s+back|change|changed)
      |change\s+(?:my|the)\s+answer|reconsider\w*|my\s+mistake|(?<!\b[A-F]\s)no,|sorry,)""",
    re.IGNORECASE | re.VERBOSE,
)
"""The text before it may be retracted."""

DENIED_MENTION = re.compile(
    r"""(?:\b(?:no|not|none|nothing|without|neither|nor|never|cannot\s+(?:identify|see|find|detect|appreciate|discern)|absent|absence|negative|free|lack|lacks|lacking|sparing|spares|exclud\w+|rul\w+\s+out
        |rather\s+than|instead\s+of|unlike|unlikely|less|den(?:y|ies)|incorrect|wrong|resolved|against)\b|n't\b
      |不[^.;:!?\n,]{0,6}$|无|無|没有|沒有|(?<!不能)(?<!难以)(?<!完全)排除|未见|未見|不是|非|なし|없)(?:(?!\b(?:but|however|although|though|instead|rather\s+it)\b|[\u2013\u2014]\s|[-=]>|[\u2192\u21d2]
        |,\s+(?:the|this|it|these|everything|i|we)\b[^,]{0,40}?\b(?:is|are|was|were|shows?|appears?|looks?|seems?|represents?|suggests?|indicates?|demonstrates?|favou?rs?|fits?|match(?:es)?|points?|supports?|has|have)\b)[^.;:!?\n])*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Earlier in the sentence of an option's text: the option is negated."""

DOUBT = re.compile(
    r"""\b(?:whether|if|second\s+(?:guess|choice|option|place)|cannot|can't|could|may|might|unable|unclear|uncertain|unsure|not\s+sure|possib\w+|differential
      |versus|vs|such\s+as|e\.g|or|insufficient|perhaps|maybe|equivocal|indeterminate|either|history|rule\s+out|but|however|although
      |sorry|as\s+an\s+ai|question|options?|previous|prior|should|unless
      |would(?=\s+(?:expect|need|require|show|have|appear|look|also|typically|usually|not)\b))\b|\?|可能(?!性(?:很|较|更|最|极)?[大高])|或|无法|無法|(?:不能|难以)(?:完全)?排除|不除外|待排""",
    re.IGNORECASE | re.VERBOSE,
)
"""In the sentence of an option's text: too weak to be an answer."""

LIKELIER = re.compile(r"\b(?:likely|probably|best)\b\W*$", re.IGNORECASE)
"""Directly before a letter: it is considered the likeliest."""

LESSER = re.compile(r"[\s\"')\].]*,\s*(?:possibly|maybe|perhaps)\b", re.IGNORECASE)
"""Between two letters: the second is considered less likely."""

CONSIDERED = re.compile(
    r"""\b(?:look(?:ing|s)?\s+at|consider(?:ing|s|ed)?|analy[sz](?:e|es|ing)|examin(?:e|es|ing)|evaluat(?:e|es|ing)|start(?:ing)?\s+with
        |regarding|about|discuss\w*|compar(?:e|es|ing)\w*|between|each\s+option|as\s+for|^\W*for\s*$|first|check(?:ing)?|test(?:ing)?|tempted)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a named option: it is being considered, not chosen."""

_ASKED_FOR = r"(?:i|we|one|you|forced|pressed|pushed|asked|required|anything)"
HYPOTHETICAL = re.compile(
    rf"[^.;\n]{{0,80}}?\b(?:if|had|were|unless)\b(?!\s+{_ASKED_FOR}\b)", re.IGNORECASE
)
"""After "would be": hypothetical."""

CONDITION = re.compile(
    rf"""(?:(?:^|;)\W*(?:(?:but|and|or)\s+)?(?:if|unless|otherwise|else|assuming|suppos\w+|were|had|should)(?!\w)
        (?!\s+(?:{_ASKED_FOR}|be|to)\b)|(?:^|;)\W*in\s+(?:the\s+)?case\s+of\b|如果|如(?=[为是有无出见])|假如|倘若|若|要是|否则|除非)""",
    re.IGNORECASE | re.VERBOSE,
)
"""In a sentence: the rest holds only in one of several cases, or hypothetically."""

RESOLVED = re.compile(
    r"\b(?:but|however|here|since|so|therefore|actually|yet|now)\b|因此|所以|故|但|然而|这里|此|本图|本题|实际",
    re.IGNORECASE,
)
"""After a condition: states which case applies."""

UNREAL = re.compile(r"\b(?:would|could|might)\b", re.IGNORECASE)
"""In an announcement: possibly hypothetical."""

WOULD_BE = re.compile(r"\bwould\s+(?:\w+\s+)?be\b", re.IGNORECASE)
"""In an announcement: weaker than one with "is"."""

TOO = re.compile(r"[^.;,\n]{0,40}\b(?:too|as\s+well)\b", re.IGNORECASE)
"""After an announced answer: a second answer is added."""

ALSO = re.compile(r"\balso\b", re.IGNORECASE)
