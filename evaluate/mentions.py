"""Options that a text names somewhere, where nothing announces an answer."""

from __future__ import annotations

import re

from medrcube.evaluate import doubts, phrases, spans
from medrcube.evaluate.choice import BEHIND, FREE_LETTER, Reader
from medrcube.evaluate.phrases import CASED

DOUBTFUL = "?"


def named_options(body: str, reader: Reader) -> set[str]:
    """Letters beside their own text, or called an option; ``DOUBTFUL`` for one in doubt.

    A name counts where the sentence asserts it or says nothing else.
    """
    places: list[tuple[int, int, str, bool]] = []
    for match in FREE_LETTER.finditer(body):
        end = reader.texts.beside(body, match.end(), match["letter"])
        if end is not None:
            places.append((match.start(), end, match["letter"], True))
    for letter, start, end in reader.texts.everywhere(body):
        carrier = phrases.CARRIER.match(body, end)
        behind = BEHIND.match(body, carrier.end() if carrier else end)
        if behind and behind["letter"].upper() == letter:
            places.append((start, behind.end(), letter, True))
    for match in _NAMED.finditer(body):
        letter = (match["letter"] or match["behind"]).upper()
        if letter in reader.letters:
            places.append((match.start(), match.end(), letter, False))
    found = set()
    for start, end, letter, labelled in places:
        if spans.denied(body, start, end):
            continue
        before = body[spans.sentence_start(body, start) : start]
        behind_it = body[end : spans.sentence_end(body, end)]
        alone = not _WORD.search(before)
        if _HEAD.match(body, end) and alone and _WORD.search(behind_it):
            # "B. Mass: a focal opacity ..." discusses an option.
            found.add(DOUBTFUL)
        elif _in_doubt(before, behind_it) or not (
            alone or labelled or _ASSERTED.search(before + " " + behind_it)
        ):
            found.add(DOUBTFUL)
        else:
            found.add(letter)
    return found


def asserted_texts(body: str, reader: Reader) -> dict[str, bool]:
    """Letters whose text is asserted somewhere, and whether beyond doubt."""
    found: dict[str, bool] = {}
    for letter, start, end in reader.texts.everywhere(body):
        if spans.denied(body, start, end):
            continue
        before = doubts.after_contrast(body[spans.sentence_start(body, start) : start])
        sentence = before + " " + body[end : spans.sentence_end(body, end)]
        sure = (
            (end - start > 2 or not body[start:end].isascii())
            and phrases.AFTER_MENTION.match(body, end) is not None
            and doubts.DOUBT.search(sentence) is None
        )
        found[letter] = found.get(letter, True) and sure
    return found


def _in_doubt(before: str, behind: str) -> bool:
    before = _NAMED.sub(" ", _POLITE.sub(" ", before))
    return bool(doubts.DOUBT.search(f"{before} , {_NAMED.sub(' ', behind)}")) or bool(
        doubts.CONSIDERED.search(before)
    )


_NAMED = re.compile(
    rf"\b(?:option|choice|answer|opcion|opcao|opzione|选项|選項|選択肢)\s*[(\[\"']*(?P<letter>[A-Z])(?![{CASED}'-])"
    rf"|(?<![{CASED}])(?P<behind>[A-Z])\s*(?:选项|選項)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")
_HEAD = re.compile(r"\s*[:\u2013\u2014-]\s")
_POLITE = re.compile(
    r"\b(?:i|we|guess|choice|opinion|diagnosis|answer)\s+would\s+(?:be|say|call|interpret|describe|read|classify|go)\b",
    re.IGNORECASE,
)
_ASSERTED = re.compile(
    r"\b(?:is|are|be|match\w*|correspond\w*|fit\w*|describ\w*|represent\w*|consistent|indicat\w*|support\w*|suggest\w*"
    r"|select\w*|choos\w*|chose|pick\w*|best|point\w*|favou?r\w*|classif\w*|conclu\w*|identif\w*|compatible|as|in\s+favou?r"
    r"|therefore|thus|hence|so|shows?|depicts?|demonstrates?)\b|是|选|選|正",
    re.IGNORECASE,
)
