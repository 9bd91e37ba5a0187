"""Queue version of each released item: the one with exactly the same wording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medrcube.evaluate.benchmark_item import BenchmarkItem as Released
from medrcube.review.models import ItemVersion
from medrcube.review.reviewing.open_answers import read_target
from medrcube.review.reviewing.sql.batches import batches

__all__ = ["queue_versions"]


def queue_versions(items: Sequence[Released]) -> Mapping[str, ItemVersion]:
    """Map the name of each item in a release to its version in the queue, the newest of equals.

    Items that are not in the queue, or have a different wording there, are omitted; so are gold
    items.
    """
    versions: dict[str, ItemVersion] = {}
    by_id = {item.id: item for item in items}
    for version in _versions(sorted(by_id)):
        item = by_id[version.item_id]
        if _same_wording(item, version):
            versions[item.name] = version
    return versions


def _versions(names: Sequence[str]) -> Iterator[ItemVersion]:
    for part in batches(names):
        rows = ItemVersion.objects.filter(item_id__in=part, item__gold_defect="")
        yield from rows.select_related("item").order_by("number")


def _same_wording(item: Released, version: ItemVersion) -> bool:
    folder = item.dataset.casefold() == version.item.source.casefold()
    if item.target is not None:
        target = None if version.target is None else read_target(version.target)
        return folder and (item.question, item.target) == (version.question, target)
    texts = [text for _, text in item.options]
    key = [letter for letter, _ in item.options].index(item.key)
    wording = (version.question, [option["text"] for option in version.options], version.key)
    return folder and (item.question, texts, key) == wording
