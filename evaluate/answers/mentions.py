"""Options that a text names somewhere, where nothing announces an answer."""

from __future__ import annotations

import re
from itertools import islice

from medrcube.evaluate.answers import doubts, phrases, spans
from medrcube.evaluate.answers.choice import BEHIND, FREE_LETTER, Reader
from medrcube.evaluate.answers.phrases import CASED

DOUBTFUL = "?"


def named_options(body: str, reader: Reader) -> set[str]:
    """Letters beside their own text, or called an option; ``DOUBTFUL`` for one in doubt.

    A name counts where the sentence asserts it or says nothing else.
    """
    found = set()
    for start, end, letter, labelled in _places(body, reader):
        if spans.denied(body, start, end):
            continue
        before = body[spans.sentence_start(body, start) : start]
        behind = body[end : spans.sentence_end(body, end)]
        # "B. Mass: a focal opacity ..." discusses an option.
        discussed = _HEAD.match(body, end) and not _WORD.search(before) and _WORD.search(behind)
        chosen = (
            labelled
            or not _WORD.search(before + behind)
            or _CHOSEN.search(before)
            or _PRAISED.search(behind)
        )
        doubtful = discussed or not chosen or _in_doubt(before, behind)
        found.add(DOUBTFUL if doubtful else letter)
    return found


def asserted_texts(body: str, reader: Reader) -> dict[str, bool]:
    """Letters whose text is asserted somewhere, and whether beyond doubt."""
    found: dict[str, bool] = {}
    for letter, start, end in islice(reader.texts.everywhere(body), _MOST):
        if spans.denied(body, start, end) or _explained(body, start, end):
            continue
        before = doubts.after_contrast(body[spans.sentence_start(body, start) : start])
        behind = doubts.before_rejected(body[end : spans.sentence_end(body, end)])
        sentence = before + " " + behind
        state = _STATE.fullmatch(body[start:end]) is not None
        carried = not state and phrases.CARRIER.match(body, end) is not None
        text = body[start:end]
        sure = (
            (not state or _ALL.search(before) is not None)
            and (len(text) > 2 or not text.isascii() or (len(text) > 1 and text.isupper()))
            and (carried or phrases.AFTER_MENTION.match(body, end) is not None)
            and doubts.DOUBT.search(sentence) is None
        )
        found[letter] = found.get(letter, True) and sure
    return found


def _places(body: str, reader: Reader) -> list[tuple[int, int, str, bool]]:
    """(start, end, letter, whether its text stands beside it) of every named option."""
    places: list[tuple[int, int, str, bool]] = []
    for match in islice(FREE_LETTER.finditer(body), _MOST):
        end = reader.texts.beside(body, match.end(), match["letter"])
        if end is not None:
            places.append((match.start(), end, match["letter"], True))
    for letter, start, end in islice(reader.texts.everywhere(body), _MOST):
        carrier = phrases.CARRIER.match(body, end)
        behind = BEHIND.match(body, carrier.end() if carrier else end)
        if behind and behind["letter"].upper() == letter:
            places.append((start, behind.end(), letter, True))
    labelled = [(start, end) for start, end, _, _ in places]
    for match in islice(_NAMED.finditer(body), _MOST):
        letter = match["letter"] or match["behind"]
        inside = any(start <= match.start() < end for start, end in labelled)
        if letter in reader.letters and not inside:
            places.append((match.start(), match.end(), letter, False))
    return places


def _explained(body: str, start: int, end: int) -> bool:
    """Whether the sentence says what a thing is in general: "In edema, ...", "Edema is a ..."."""
    before = body[spans.sentence_start(body, start) : start]
    if _TOPIC.fullmatch(before) and body[end : end + 1] == ",":
        return True
    return bool(_ARTICLE.fullmatch(before)) and _DEFINED.match(body, end) is not None


def _in_doubt(before: str, behind: str) -> bool:
    before = _NAMED.sub(" ", _POLITE.sub(" ", before))
    return bool(doubts.DOUBT.search(f"{before} , {_NAMED.sub(' ', behind)}")) or bool(
        doubts.CONSIDERED.search(before.rpartition(",")[2])
    )


_MOST = 400
"""So many names are looked at: a reply with more of them loops."""
# The heart is normal: that does not make the study so.
_STATE = re.compile(r"normal|healthy|unremarkable", re.IGNORECASE)
_ALL = re.compile(
    r"""(?:^\W*|\b(?:it|this|that|images?|picture|scan|study|exam|examination|radiograph|x-?ray|film|ct|mri|ultrasound
        |mammogram|echocardiogram|chest|brain|breast|everything|patient|diagnosis|impression|conclusion|findings?
        |appearance|result|section|slice|lungs|therefore|so|thus|hence)[\s:,]+)
      (?:(?:is|are|was|were|appears?|looks?|seems?|shows?|demonstrates?|to|be|overall|essentially|completely|entirely|a|an|the
        |of|as|with|consistent|therefore|most|likely|probably)\s+)*$""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMED = re.compile(
    rf"\b(?i:option|choice|answer|opcion|opcao|opzione|选项|選項|選択肢)\s*[(\[\"']*"
    rf"(?P<letter>[A-Z])(?![{CASED}'-])|(?<![{CASED}])(?P<behind>[A-Z])\s*(?:选项|選項)",
)
_WORD = re.compile(r"\w")
_HEAD = re.compile(r"\s*[:\u2013\u2014-]\s")
_POLITE = re.compile(
    r"\b(?:i|we|guess|choice|opinion|diagnosis|answer)\s+would\s+(?:be|say|call|interpret|describe|read|classify|go)\b",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    r"\b(?:is|are|be|match\w*|correspond\w*|fit\w*|describ\w*|represent\w*|consistent|align\w*|in\s+line|indicat\w*|support\w*|suggest\w*"
    r"|select\w*|choos\w*|chose|pick\w*|best|point\w*|favou?r\w*|classif\w*|conclu\w*|identif\w*|compatible|as|in\s+favou?r"
    r"|therefore|thus|hence|so)\b|是|选|選|正",
    re.IGNORECASE,
)
_PRAISED = re.compile(r"\b(?:best|correct|right|fits|matches|most)\b|正", re.IGNORECASE)
_TOPIC = re.compile(
    r"\W*(?:in|for|with|during|unlike|typically)\s+(?:(?:an?|the)\s+)?", re.IGNORECASE
)
_ARTICLE = re.compile(r"\W*(?:(?:an?|the)\s+)?", re.IGNORECASE)
_DEFINED = re.compile(
    r"\s+(?:is|are)\s+(?:an?|defined|characteri[sz]ed|usually|typically|often|commonly|caused)\b",
    re.IGNORECASE,
)
