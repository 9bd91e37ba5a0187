"""The words around an answer: what announces, denies, doubts, revises or refuses one.

Patterns are matched without regard to case on text that ``answers`` has made plain (no markdown,
no LaTeX, straight quotes).
"""

from __future__ import annotations

import re

CASED = r"A-Za-z0-9\u00aa-\u024f\u0300-\u03ff\u0400-\u052f\u1e00-\u1fff"
"""Characters that bind to a neighbouring letter; Chinese, Japanese and Korean ones do not."""


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

AFTER_MENTION = re.compile(
    r"""\s*(?:$|[.,;:!)\]"'\n\u3002\u3001\u2013\u2014-]|[^\x00-\u024f]
      |(?:is|are|was|were|in|on|at|of|within|here|seen|visible|present|identified|noted|shown|evident|as|and|because|since|which
        |that|due|with|involving|near|for|from|by|based|given|also|projecting|overlying|along|throughout|most|best|would|can|rather|instead|not|unlike)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may follow an option's text; another noun would make it a different thing."""
