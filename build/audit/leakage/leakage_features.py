"""Features for the leakage models: option text, or question wording.

No feature uses a key, so features may be computed over the whole batch: anyone with the benchmark
sees all of its options.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import permutations

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.ontologies.label_words import content_words, normalise, tokens

__all__ = ["Features", "option_features", "wording_features"]

Features = dict[Hashable, float]


def option_features(items: Sequence[ChoiceItem]) -> list[list[Features]]:
    """Features of every option of every item, from the options alone.

    Position, length, words, the label, each other label of the item, the whole set of labels, how
    often the label and its companions occur in the batch, and words shared with other options.
    """
    names = [[normalise(option.text) for option in item.options] for item in items]
    frequencies = Counter(name for row in names for name in row)
    together = Counter(pair for row in names for pair in permutations(row, 2))
    return [
        _merge(_shape(item), _company(row, frequencies, together))
        for item, row in zip(items, names, strict=True)
    ]


def wording_features(items: Sequence[ChoiceItem]) -> list[list[Features]]:
    """Features of every option from the question: each word, and the whole, with each label."""
    features: list[list[Features]] = []
    for item in items:
        words = [*dict.fromkeys(tokens(item.question)), item.question]
        weight = 1 / math.sqrt(len(words))
        features.append(
            [
                {(word, place): weight for word in words}
                for place in (
                    normalise(option.text) if option.concept else index
                    for index, option in enumerate(item.options)
                )
            ]
        )
    return features


def _shape(item: ChoiceItem) -> list[Features]:
    count = len(item.options)
    texts = [option.text for option in item.options]
    words = [content_words(text) for text in texts]
    shared = [sum(len(own & other) for other in words) - len(own) for own in words]
    lengths = [math.log(len(text) + 1) for text in texts]
    rows: list[Features] = [
        {("place", count, index): 1.0, "length": 2 * lengths[index], "shared": float(shared[index])}
        for index in range(count)
    ]
    for name, values in (("length", lengths), ("shared", shared)):
        _flag(rows, f"most {name}", values, max(values))
        _flag(rows, f"least {name}", values, min(values))
    for features, text, own in zip(rows, texts, words, strict=True):
        features.update({("word", word): 0.5 for word in own})
        features["words"] = float(len(text.split()))
        features["figures"] = float(any(map(str.isdigit, text)))
        features["brackets"] = float("(" in text)
    return rows


def _company(
    row: Sequence[str], frequencies: Counter[str], together: Counter[tuple[str, str]]
) -> list[Features]:
    family = tuple(sorted(row))
    often = [math.log(frequencies[name]) for name in row]
    close = [
        sum(math.log(together[name, other]) for other in row if other != name) / len(row)
        for name in row
    ]
    rows: list[Features] = [
        {
            ("label", name): 1.0,
            ("set", family, name): 0.5,
            "often": often[index],
            "close": close[index],
            **{("beside", name, other): 0.5 for other in row if other != name},
        }
        for index, name in enumerate(row)
    ]
    for name, values in (("often", often), ("close", close)):
        _flag(rows, f"most {name}", values, max(values))
        _flag(rows, f"least {name}", values, min(values))
    return rows


def _flag(rows: Sequence[Features], name: str, values: Sequence[float], extreme: float) -> None:
    """Flag the options with an extreme value, unless all share it."""
    if min(values) < max(values):
        for features, value in zip(rows, values, strict=True):
            if value == extreme:
                features[name] = 1.0


def _merge(*parts: Iterable[Features]) -> list[Features]:
    return [
        {name: value for part in options for name, value in part.items()}
        for options in zip(*parts, strict=True)
    ]
