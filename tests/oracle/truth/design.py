"""What the keys of a batch give away, from the items alone.

A reader who knows the source and the task of an item must not know from these what is never or
always right.
"""

import re
from collections import Counter, defaultdict

ENOUGH = 10
"""Of fewer items nobody can tell that an option is never right."""
MODALITY, PART = "Modality Recognition", "Organ Recognition"
ALL = "all sources"
NUMBER = re.compile(r"(box|frame) \d")
"""Numbers are drawn by lot anew for each picture: a few may be alike and tell nothing."""


def never_and_always(items, lone=()):
    """Options that are always or never the key of ten items or more of one source and task.

    Once with one set of options, and once over all sets, of the items that offer the option.

    Args:
        items: of one batch.
        lone: source and field of each organ or structure that is the only one of its source;
            like modalities, which are one in most sources, they compare over all sources.
    """
    together = defaultdict(list)
    for item in items:
        place, texts = _place(item, lone), frozenset(map(_text, item.options))
        for offer in (texts, *texts):
            together[place, offer].append(item)
    for (place, offer), members in together.items():
        if len(members) < ENOUGH:
            continue
        keys = Counter(map(_key, members))
        whole = isinstance(offer, frozenset)
        for text in sorted(offer) if whole else [offer]:
            if keys[text] in {0, len(members)}:
                word = "always" if keys[text] else "never"
                among = f"of {sorted(offer)}" if whole else "of all that offer it"
                yield f"{' '.join(place)}: {text!r} is {word} the key, {len(members)} items {among}"


def single_keys(items, lone=()):
    """Tasks of a source in which every item has one and the same key; ``lone`` as above.

    The number of a box or frame counts from ten items on.
    """
    keys = defaultdict(Counter)
    for item in items:
        keys[_place(item, lone)][_key(item)] += 1
    for place, key in keys.items():
        text, count = key.most_common(1)[0]
        if len(key) == 1 and (count >= ENOUGH or not NUMBER.fullmatch(text)):
            yield f"{' '.join(place)}: {text!r} is the key of all {count} items"


def _place(item, lone):
    """Source and task of an item, as far as its answers compare."""
    over_all = item.task == MODALITY or (item.task == PART and (item.source, item.field) in lone)
    return (ALL if over_all else item.source, item.task)


def _key(item):
    return _text(item.options[item.key])


def _text(option):
    return option.text.casefold()
