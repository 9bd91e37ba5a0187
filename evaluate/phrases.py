"""The words around an answer: what announces, denies, doubts, revises or refuses one.

Patterns are matched without regard to case on text that ``answers`` has made plain (no markdown,
no LaTeX, straight quotes).
"""

from __future__ import annotations

import re

CASED = r"A-Za-z0-9\u00aa-\u024f\u0300-\u03ff\u0400-\u052f\u1e00-\u1fff"
"""Characters that bind to a neighbouring letter; Chinese, Japanese and Korean ones do not."""


def is_refusal(text: str) -> bool:
    """Whether a reply without an answer declines to give one."""
    return _REFUSAL.search(text.replace("\u2019", "'")) is not None


_REFUSAL = re.compile(
    r"""\b(?:i\s*(?:'m|\ am)\s+(?:(?:really|very|so)\s+)?sorry|i\s+apologi[sz]e
      |i\s+(?:can(?:'t|\s*not)|could\s*n(?:'t|ot)|won't|will\s+not|am\s+(?:not\s+able|unable)\s+to
          |must\s+decline|do\s+not\s+feel\s+comfortable)
      |i'm\s+(?:not\s+able|unable)\s+to|as\s+an\s+ai\b|(?:against|violates?)\s+(?:my|the|our)\s
      |not\s+(?:qualified|able|allowed)\s+to\s+(?:provide|give|diagnos|interpret|answer)
      |(?:consult|see|seek)\s+(?:a|an|your)\s+(?:\w+\s+){0,2}(?:doctor|physician|professional))
      |抱歉|无法(?:回答|提供|协助|判断)|無法(?:回答|提供)|申し訳|죄송""",
    re.IGNORECASE | re.VERBOSE,
)


def clause_before(text: str, end: int) -> str:
    """The clause before a place, without the polite "if I had to choose"."""
    clause = text[max(0, end - 200) : end]
    clause = _POLITE.sub("", clause)
    return _CLAUSE_END.split(clause)[-1]


def after_contrast(text: str) -> str:
    """What follows the last "but": what stands before it is another statement."""
    return _CONTRAST.split(text)[-1]


_CONTRAST = re.compile(r"\b(?:but|however|although|though|instead)\b", re.IGNORECASE)
_POLITE = re.compile(
    r"\bif\s+(?:i|we|one)\s+(?:(?:had|have|were|was|am)\s+to|must|should|could\s+only)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[.;:,!?\n\uff0c]|\b(?:but|however|although|though|yet|and|so|therefore|hence)\b",
    re.IGNORECASE,
)

_LINK = r"""(?:\s*(?::|=|>|[-\u2013\u2014]+>?|\u2192|\u21d2)\s*
    |\s+(?:is|was|are|be|would\s+be|should\s+be|must\s+be|will\s+be|has\s+to\s+be|seems(?:\s+to\s+be)?
      |appears\s+to\s+be|remains|becomes)(?:\s*:)?\s+
    |'s\s+|\s*\n+\s*
    |\s+(?=(?:cannot|can't|can\s+not|could\s+not)\s+be\s+(?:determined|established|given|known
        |identified|inferred|answered|found|decided|ascertained)))"""
_FILLER = r"""(?:(?:therefore|thus|hence|clearly|definitely|indeed|actually|simply|still|now|then
    |in\s+fact
    |most\s+likely|more\s+likely|most\s+probably|probably|likely|certainly|obviously|rather|best)[\s,]+
    |(?:the\s+)?(?:correct\s+|right\s+|best\s+|final\s+)?(?:option|choice|letter|answer)
      (?:\s+is)?[\s:]+)"""

DECLARATION = re.compile(
    rf"""(?:
      \b(?:answers?|ans|response|choice|option|selection|pick|letter|prediction|conclusion
          |(?:correct|right|best|chosen|selected|final)\s+one)
        (?:\s*\d{{1,2}}(?=\s*:))?
        (?:\s+(?:to|for|of|among|amongst|from|here|in|out\s+of|given)\b[^.;\n]{{0,60}}?(?=\s(?:is|was)\s|:))?
        (?:['"]\s*)?(?:{_LINK}|(?<=er)\s*\((?=[A-Za-z]\))|(?<=er)\s+(?=[A-Z](?![{CASED}'])))
      |\b(?:correct|selected|chosen|choose|select|pick|ans|final)\s*:\s*
      |\b(?:i|we)(?:'d|'ll|'ve|\s+would|\s+will|\s+have|\s+am|'m|\s+must|\s+should|\s+now|\s+can)?
        (?:\s+(?:therefore|thus|hence|still|definitely|rather|now|probably|confidently|finally|have\s+to|to))*
        \s+(?:choose|chose|chosen|choosing|select(?:ed|ing)?|pick(?:ed|ing)?|go(?:ing)?\s+(?:with|for)
          |opt(?:ed|ing)?\s+for|answer|say|vote\s+for|lean(?:ing)?\s+towards?|settle\s+(?:on|for)
          |conclude(?:\s+that)?(?:\s+(?:it|this)\s+is)?|stick(?:ing)?\s+with|stay\s+with
          |change\s+(?:my|the)\s+answer\s+to|switch(?:ing)?\s+to|mean|meant)\s*:?\s+
      |\bwill\s+(?:go\s+with|choose|pick|select)\s+
      |\b(?:change|revise|correct|update)\s+(?:my|the)\s+(?:final\s+)?answer\s+to\s+
      |(?<!不)(?<!非)(?:答案|答え|解答|正解|정답|답안|답|(?:正确|正確|正しい)(?:的)?(?:选项|選項|選択肢)|(?<!个)(?<!個)选项|選項|選択肢)
        (?:应该|應該|应当|应|應|可能|必须)?(?:是|为|為|选择|選擇|选|選|은|는|は)?\s*:?\s*
      |(?<!不)(?<!不会)(?<!不能)(?:应|應|故|所以|我)?(?:选择|選擇|选|選)(?!项|項|択)(?:项|項)?\s*:?\s*
      |而是\s*|(?:应该|應該|应当)是\s*|回答\s*:\s*|(?:所以|因此|故)(?:是|为)\s*
      |\b(?:la\s+|die\s+|a\s+|il\s+)?(?:r[ée]ponse|respuesta|antwort|risposta|resposta|ответ|svar|odpowied[źz]|cevap)
        (?:\s+(?:correcta?|correcte|richtige|corretta|juste|finale?|final|правильный))*
        (?:\s*:\s*|\s+(?:est|es|ist|lautet|è|é|er|to)\s+(?:la\s+|die\s+|a\s+)?(?:opci[óo]n\s+|op[çc][ãa]o\s+|opzione\s+)?|\s*[-\u2013\u2014]+\s*)
    )
    (?:{_FILLER}){{0,3}}""",
    re.IGNORECASE | re.VERBOSE,
)
"""What announces an answer outright; the answer itself must follow at once."""

TURN = re.compile(
    rf"""(?:\b(?:actually|correction|scratch\s+that|on\s+(?:second\s+thought|reflection|review)|wait)\b[\s,.:;!\u2013\u2014-]+
      (?:(?:no|sorry|wait|actually)[\s,.]+)*|(?<![{CASED}])no[,;]\s+)
    (?:(?:it|that|this)(?:'s|\s+is|\s+should\s+be|\s+must\s+be)\s+|make\s+(?:it|that)\s+|i\s+meant\s+)?(?:{_FILLER}){{0,2}}""",
    re.IGNORECASE | re.VERBOSE,
)
"""A change of mind; only a letter right behind it counts."""

HINT = re.compile(
    rf"""(?:\b(?:it|this|that)(?:'s|\s+is|\s+must\s+be|\s+should\s+be)\s+
      |\b(?:most\s+likely|more\s+likely|(?<!less\s)(?<!un)(?<!not\s)likely|probably|presumably)[\s:,]+
      |\b(?:definitely|certainly|clearly|surely|obviously|undoubtedly)\s+
      |\b(?:guess|vote|verdict)(?:\s+is|\s+would\s+be|\s*:)\s*
      |可能的?(?:答案|选项|诊断)?是\s*
      |\b(?:therefore|thus|hence|so|leaving|leaves|remains|consequently)[\s:,]+(?:only\s+)?
      |\b(?:i|we)\s+(?:think|believe|suspect|guess|suggest|favou?r|prefer|would\s+guess)
        (?:\s+that)?(?:\s+(?:it|this)(?:'s|\s+is))?\s+
      |\b(?:but|rather|instead)[\s,:]+(?:it(?:'s|\s+is)\s+|rather\s+|now\s+)?
      |\b(?:diagnosis|impression|finding|conclusion)(?:\s+is|\s*:|\s+of)\s+
      |=>\s*|->\s*|\u2192\s*|\u21d2\s*)
    (?:{_FILLER}){{0,2}}""",
    re.IGNORECASE | re.VERBOSE,
)
"""What merely points to an answer; believed only where nothing is declared."""

VERDICT = re.compile(
    rf"""(?:^|[.;:,!?\n("]|\b(?:options?|choice|answer|letter|that|so|thus|therefore|hence|then|think|believe|say
          |but|and|only|while|whereas|because|conclude)\b)[\s"'(\[]{{0,6}}
      (?:(?:option|choice|answer|letter|选项)\s*)?[("'\[]?(?P<letter>[A-Za-z])[)"'\].]?(?![{CASED}'-])
      (?P<text>[^.;\n]{{0,80}}?)
      (?:\s+(?:is|seems|appears|looks|would\s+be|must\s+be|should\s+be|remains)(?:\s+to\s+be)?
          (?:\s+(?:clearly|definitely|probably|therefore|thus|indeed|most|more|the|by|far|only|single|very|also|a|an|my|your))*
          \s+(?:correct|right|true|best|better|likely|plausible|probable|appropriate|accurate|answer|choice|fitting|suitable|consistent)\b
        |\s*:\s*(?:is\s+)?(?:correct|right|true)\b
        |\s+(?:best|most\s+\w+|better|correctly|clearly)\s+(?:describes?|matches|fits|represents?|explains?|corresponds|answers)\b
        |\s+fits\s+best\b
        |\s*(?:选项|選項|项)?\s*(?:是|才是)?\s*(?:正确|正確|对的|正解)
        |\s*が(?:正解|正しい)|\s*(?:이|가)\s*정답)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that calls one letter right."""

NOT_BEFORE = re.compile(
    r"""(?:\b(?:not|never|no\s+longer|cannot|doubt\w*|hardly|wrong|incorrect|incorrectly|mistak\w*|misread\w*|tempt\w*
        |if|whether|unless|suppose|supposing|assum\w*|might|could|may|someone|some\s+(?:may|might|would|people)
        |students?|initially|originally|at\s+first|first\s+(?:thought|said|guess\w*|answer)|previous(?:ly)?|earlier
        |example|e\.g|instead\s+of|rather\s+than|format)\b|n't\b|不|非|并非)[^.;:,\n]*$""",
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
        |is\s+out\b|absent\b|isn't|cannot|can't|wasn't|✗|✘|❌|错误|錯誤|不正确|不正確|不对|不是|ではな|가?\s*아니)
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
      |无|無|没有|沒有|未见|未見|不是|非|なし|없)(?:(?!\b(?:but|however|although|though|instead|rather\s+it)\b)[^.;:!?\n])*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Earlier in the sentence of an option's text: the option is denied."""

DOUBT = re.compile(
    r"""\b(?:whether|if|cannot|can't|could|may|might|unable|unclear|uncertain|unsure|not\s+sure|possib\w+|differential
      |versus|vs|such\s+as|e\.g|or|insufficient|perhaps|maybe|equivocal|indeterminate|either|history|rule\s+out|but|however|although
      |sorry|as\s+an\s+ai|question|options?|previous|prior|would|should|unless)\b|\?|可能|或|无法|無法""",
    re.IGNORECASE | re.VERBOSE,
)
"""In the sentence of an option's text: too weak to be an answer."""

AFTER_MENTION = re.compile(
    r"""\s*(?:$|[.,;:!)\]"'\n\u3002\u3001\u2013\u2014-]|[^\x00-\u024f]
      |(?:is|are|was|were|in|on|at|of|within|here|seen|visible|present|identified|noted|shown|evident|as|and|because|since|which
        |that|due|with|involving|near|for|from|by|based|given|also|projecting|overlying|along|throughout|most|best|would|can|rather|instead|not|unlike)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may follow an option's text; another noun would make it a different thing."""
