"""The words that take an answer back: what denies, doubts, leaves open or revises one.

Patterns are matched without regard to case on text that ``plaintext.plain`` has made plain.
"""

from __future__ import annotations

import re


def clause_before(text: str, end: int) -> str:
    """The clause before a place, without the polite "if I had to choose"."""
    clause = text[max(0, end - 200) : end]
    clause = _POLITE.sub("", clause)
    return _CLAUSE_END.split(clause)[-1]


def after_contrast(text: str) -> str:
    """What follows the last "but": what stands before it is another statement."""
    return _CONTRAST.split(text)[-1]


def before_rejected(text: str) -> str:
    """What precedes "rather than": what follows it is not meant."""
    return _REJECTED.split(text, maxsplit=1)[0]


_REJECTED = re.compile(
    r"\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to|unlike|not)\b", re.IGNORECASE
)
_CONTRAST = re.compile(r"\b(?:but|however|although|though|instead)\b", re.IGNORECASE)
_POLITE = re.compile(
    r"\bif\s+(?:i|we|one)\s+(?:(?:had|have|were|was|am)\s+to|must|should|could\s+only)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[.;:,!?\n\uff0c而]|\b(?:but|however|although|though|yet|and|so|therefore|hence)\b",
    re.IGNORECASE,
)

NOT_BEFORE = re.compile(
    r"""(?:\b(?:not|never|no\s+longer|nothing|cannot|doubt\w*|hardly|wrong|incorrect|incorrectly|mistak\w*|misread\w*|tempt\w*
        |if|whether|unless|suppose|supposing|assum\w*|might|could|may|someone|some\s+\w+
        |students?|initially|originally|at\s+first|first\s+(?:thought|said|guess\w*|answer)|previous(?:ly)?|earlier
        |another|type|grade|group|class|stage|hepatitis|vitamin|labell?ed|marked|possibilit\w+|differential|complication|cause|example|e\.g|instead\s+of|rather\s+than|format|less)\b|n't\b|不|非|并非)[^.;:,\n]*$
      |\b(?:second|third|fourth|last|next|other|another|alternative|backup|runner-up|worst|2nd|3rd|4th|least\s+likely)\s+(?:\w+\s+)?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""In the clause before an announcement: what is announced is not meant."""

DENIED_TARGET = re.compile(
    r"(?:(?:clearly|definitely|certainly|probably|likely|surely|most)\s+)*"
    r"(?:not?\b|n't\b|neither\b|never\b|isn't\b|wasn't\b|incorrect\b|wrong\b|不是|不选|不為|不为|非|아니)",
    re.IGNORECASE,
)
"""Straight after an announcement: it says what the answer is not."""

DENIED_AFTER = re.compile(
    r"""[\s:)\]"'(\u2013\u2014-]*(?:incorrect|wrong|false|ruled\s+out|excluded|eliminated|unlikely|less\s+likely|impossible
        |is\s+out\b|absent\b|isn't|cannot|can't|wasn't|✗|✘|❌|错误|錯誤|不正确|不正確|不对|不是(?!\s*[A-Z])|ではな|가?\s*아니)
      |[\s:)\]"']*(?:is|was|are|were|seems|would\s+be|can\s+be|has\s+been|looks|appears)\s+(?:(?:also|clearly|definitely|therefore|very|most|highly)\s+)*
        (?:incorrect|wrong|false|not\b|ruled\s+out|excluded|eliminated|unlikely|less\s+likely|impossible|out\b|absent|no\s+longer|never)
      |\s+(?:only\s+)?(?:if|unless|when|were)\b|\s*\?""",
    re.IGNORECASE | re.VERBOSE,
)
"""Straight after a letter or an option's text: it is denied, conditional or asked."""

OPEN_ANSWER = re.compile(
    r"""(?:(?:either|both|any|all|none|neither|nothing|unknown|unclear|uncertain|indetermin\w*|undetermin\w*|unsure
      |ambiguous|impossible|inconclusive|n/a|null|cannot|can't|can\s+not|could\s+not|unable|not\s+(?:sure|clear|possible|determin\w+|certain|known|available|listed|given|among|in)
      |difficult|hard\s+to|probably\s+none|无法|無法|不确定|不明)\b|\?)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Straight after an announcement: the answer is left open."""

REVISION = re.compile(
    r"""\b(?:actually|wait|correction|scratch\s+that|hold\s+on|hmm|on\s+(?:second\s+thought|reflection|review|closer)
      |upon\s+(?:review|reflection|closer)|let\s+me\s+re\w*|i\s+(?:was\s+wrong|meant|mean|take\s+that\s+back|change|changed)
      |change\s+(?:my|the)\s+answer|reconsider\w*|my\s+mistake|no,|sorry,)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What comes before it may be taken back."""

DENIED_MENTION = re.compile(
    r"""(?:\b(?:no|not|without|neither|nor|never|absent|absence|negative|free|lack|lacks|lacking|exclud\w+|rul\w+\s+out
        |rather\s+than|instead\s+of|unlike|unlikely|less|den(?:y|ies)|incorrect|wrong|resolved|against)\b|n't\b
      |不[^.;:!?\n,]{0,6}$|无|無|没有|沒有|未见|未見|不是|非|なし|없)(?:(?!\b(?:but|however|although|though|instead|rather\s+it)\b
        |,\s+(?:the|this|it|these|everything)\b[^,]{0,40}?\b(?:is|are|was|were|shows?|appears?|looks?)\b)[^.;:!?\n])*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Earlier in the sentence of an option's text: the option is denied."""

DOUBT = re.compile(
    r"""\b(?:whether|if|cannot|can't|could|may|might|unable|unclear|uncertain|unsure|not\s+sure|possib\w+|differential
      |versus|vs|such\s+as|e\.g|or|insufficient|perhaps|maybe|equivocal|indeterminate|either|history|rule\s+out|but|however|although
      |sorry|as\s+an\s+ai|question|options?|previous|prior|should|unless
      |would(?=\s+(?:expect|need|require|show|have|appear|look|also|typically|usually|not)\b))\b|\?|可能|或|无法|無法""",
    re.IGNORECASE | re.VERBOSE,
)
"""In the sentence of an option's text: too weak to be an answer."""

LIKELIER = re.compile(r"\b(?:likely|probably|best)\b\W*$", re.IGNORECASE)
"""Straight before a letter: it is held for the likeliest."""

LESSER = re.compile(r"[\s\"')\].]*,\s*(?:possibly|maybe|perhaps)\b", re.IGNORECASE)
"""Between two letters: the second is held for less likely."""

CONSIDERED = re.compile(
    r"""\b(?:look(?:ing|s)?\s+at|consider(?:ing|s|ed)?|analy[sz](?:e|es|ing)|examin(?:e|es|ing)|evaluat(?:e|es|ing)|start(?:ing)?\s+with
        |regarding|about|discuss\w*|compar(?:e|es|ing)\w*|between|each\s+option|as\s+for|for|first|check(?:ing)?|test(?:ing)?|tempted)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a named option: it is looked at, not chosen."""

SUPPOSED = re.compile(
    r"\s*(?:if|unless|assuming|suppos\w+|had|were)\b(?!\s+(?:i|we|one|you)\b)", re.IGNORECASE
)
"""At the start of a sentence with "would": what follows holds in another world."""

ALSO = re.compile(r"\balso\b", re.IGNORECASE)
