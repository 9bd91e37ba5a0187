"""Detect refusals, as distinct from undecided or badly worded replies."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["is_refusal"]


def is_refusal(text: str) -> bool:
    """Whether a reply without an answer declines to give one.

    Citing a lack of image, permission or skill is a refusal; being in doubt is not.
    """
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return _REFUSAL.search(plain) is not None


_REFUSAL = re.compile(
    r"""\b(?:i\s*(?:'m|\ am)\s+(?:(?:really|very|so)\s+)?sorry|i\s+apologi[sz]e
      |sorry,\s+(?:but\s+)?i\b
      |(?:i|and|but|so)\s+(?:can(?:'t|\s*not)|could\s*n(?:'t|ot)|won't|will\s+not|am\s+(?:not\s+able|unable)\s+to
          |do\s*n(?:'t|ot)\s+feel\s+comfortable|have\s+to\s+decline|must\s+decline)
        (?!\s+(?:tell|exclude|decide|rule|be\s+(?:sure|certain)|distinguish|differentiate|discern)\b)
      |i'm\s+(?:not\s+able|unable)\s+to|i'm\s+not\s+(?:trained|qualified)
      |(?:as|just|only)\s+an?\s+(?:ai|(?:large\s+)?language\s+model)\b
      |(?:against|violates?)\s+(?:my|the|our)\s
      |not\s+(?:qualified|able|allowed)\s+to\s+(?:provide|give|diagnos|interpret|answer)
      |(?:consult|see|seek)\s+(?:a|an|your)\s+(?:\w+\s+){0,2}(?:doctor|physician|professional|radiologist)
      |(?:no|do\s*n(?:'t|ot)\s+(?:see|have)\s+an?|did\s*n(?:'t|ot)\s+receive\s+an?)\s+(?:image|picture)\b
        (?=\s*$|\s*[.,;]|\s+(?:was|is|has|attached|provided|in|to|here|yet))
      |(?:image|picture)\s+(?:(?:was|is|has|does)\s*n(?:'t|ot)|(?:seems?|appears?)\s+(?:not|to\s+be\s+missing))
        [\s\w]{0,20}\b(?:provided|attached|loaded|included|uploaded)
      |please\s+(?:upload|attach|share|provide|re-?send)\s+(?:the|an?|your)\s+(?:image|picture)
      |lo\s+siento|no\s+puedo|je\s+(?:suis\s+)?d\u00e9sol|je\s+ne\s+peux|es\s+tut\s+mir\s+leid|desculpe|n\u00e3o\s+posso)
      |抱歉|对不起|對不起|作为(?:一个|一名)?(?:AI|人工智能|语言模型)|(?:无法|無法|不能)(?:回答|提供|协助|判断|查看|识别|分析|给出|诊断)
      |无法根据|申し訳|お答えできません|죄송""",
    re.IGNORECASE | re.VERBOSE,
)
