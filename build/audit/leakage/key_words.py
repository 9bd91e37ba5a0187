"""Keyword leakage: words over-represented in keys, and the smallest detectable effect.

A word counts in the items that show it in some options but not in all. Without leakage the key has
it as often as any option. The tail probability is bounded by Hoeffding (1963,
doi:10.1080/01621459.1963.10500830, theorem 1), which holds for items of unequal chance and any
sample size, with a Bonferroni correction over the words of a task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.ontologies.label_words import tokens

__all__ = ["WORD_P", "hoeffding_bound", "key_words"]

WORD_P = 0.01
"""Probability that any word of a task is flagged by chance."""

Row = dict[str, Any]


def key_words(items: Iterable[ChoiceItem]) -> list[Row]:
    """Return for each task the word that is most over- or under-represented in keys.

    Numbered boxes have no words.

    Returns:
        Rows with ``task``, ``n`` items, number of ``words`` counted, the most deviating ``word``,
        how often it is in the ``key`` and how often it was ``due`` there, ``p``, ``threshold``,
        ``within``; and ``smallest_cue``, the number of keys in which a word that is in no other
        option would have been detected, with ``smallest_share``, that number divided by ``n``.
    """
    tasks: dict[str, list[ChoiceItem]] = {}
    for item in items:
        if item.options[item.key].concept:
            tasks.setdefault(item.task, []).append(item)
    return [_row(task, members) for task, members in sorted(tasks.items())]


def hoeffding_bound(keyed: int, due: float, items: int) -> float:
    """Bound the probability that so many keys, or so few, have a word.

    Args:
        keyed: number of items whose key has it.
        due: expected number in a fair draw.
        items: number of items that show it.
    """
    share, chance = keyed / items, due / items
    entropy = 0.0
    if share:
        entropy += share * math.log(share / chance)
    if share < 1:
        entropy += (1 - share) * math.log((1 - share) / (1 - chance))
    return min(1.0, 2 * math.exp(-items * entropy))


def _row(task: str, items: list[ChoiceItem]) -> Row:
    counts: dict[str, tuple[int, float, int]] = {}
    for item in items:
        own = [set(tokens(option.text)) for option in item.options]
        for word in set().union(*own):
            share = sum(word in words for words in own) / len(own)
            if share < 1:
                keyed, due, showing = counts.get(word, (0, 0.0, 0))
                counts[word] = (keyed + (word in own[item.key]), due + share, showing + 1)
    chance = sum(1 / len(item.options) for item in items) / len(items)
    smallest = math.ceil(math.log(WORD_P / (2 * (len(counts) + 1))) / math.log(chance))
    power = {"smallest_cue": smallest, "smallest_share": smallest / len(items)}
    tails = [(hoeffding_bound(*count), word) for word, count in counts.items()]
    if not tails:
        empty = dict.fromkeys(("word", "key", "due", "p", "within"))
        return {"task": task, "n": len(items), "words": 0, **empty, "threshold": WORD_P, **power}
    p, word = min(tails)
    keyed, due, _ = counts[word]
    p = min(1.0, p * len(counts))
    return {
        "task": task,
        "n": len(items),
        "words": len(counts),
        "word": word,
        "key": keyed,
        "due": due,
        "p": p,
        "threshold": WORD_P,
        "within": p > WORD_P,
        **power,
    }
