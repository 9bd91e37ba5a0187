"""Tell a reply that declines to answer from one that answers badly."""

from __future__ import annotations

import re


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
