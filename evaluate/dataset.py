"""Load and validate a release, ours or the published one: its tables and their images.

Everything that could later cause a wrong number is refused here with a message: a key that is not
an option, two options with equal texts, a duplicate id, an unknown task.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from medrcube.errors import ReleaseError
from medrcube.evaluate.benchmark_item import BenchmarkItem, held_once
from medrcube.evaluate.collection_pause import collection_paused
from medrcube.evaluate.item_encoding import encode_item
from medrcube.evaluate.runner.image_digests import ImageDigest, digest_image, is_unchanged
from medrcube.release_format.errata import FILE as ERRATA
from medrcube.release_format.errata import Erratum, read_errata
from medrcube.release_format.format_version import states_synthetic
from medrcube.release_format.images import DamagedShardError, ReleaseImages, open_images
from medrcube.release_format.item_facts import each_item_row, read_case_units, read_pixel_hashes
from medrcube.release_format.item_sets import SETS, fault_of_set, read_item_sets
from medrcube.release_format.open_rows import UnknownFormError, read_open_fields
from medrcube.release_format.row_reading import read_row_fields
from medrcube.release_format.rows import BadRowError
from medrcube.release_format.strict_json import BadJsonError, read_list
from medrcube.release_format.tree import (
    LARGEST_PICTURE,
    OPEN_TABLE,
    find_tables,
    open_file,
)
from medrcube.release_format.vocabulary_file import release_vocabulary
from medrcube.vocabulary.layers import Vocabulary, using

__all__ = ["Benchmark", "load_benchmark"]

SHOWN_PROBLEMS = 10
"""Number of problems listed in the error of a refused release."""

MOST_PROBLEMS = 1000
"""Number of problems after which reading stops."""


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A validated release.

    Attributes:
        root: folder of the release.
        images: access to its images.
        items: every item, in the order of the sorted source folders and their files.
        pixels: published pixel hash of each image by its path, if the release has recipes.
        errata: withdrawn items by name; they remain among ``items``.
        unknown_forms: number of rows by answer form unknown to this version: they are neither
            checked nor asked.
        vocabulary: the vocabulary of its items: the words active when it was read, and those it
            declares. Code that needs more than the items themselves, such as a report that lists
            all tasks, runs under ``using(benchmark.vocabulary)``.
        known_digests: image digests of an earlier session; unchanged files are not read again.
        is_synthetic: whether the release states that all its images are generated.
    """

    root: Path
    images: ReleaseImages = field(compare=False, repr=False)
    items: tuple[BenchmarkItem, ...]
    pixels: Mapping[str, str] = field(default_factory=dict)
    errata: Mapping[str, Erratum] = field(default_factory=dict)
    unknown_forms: Mapping[str, int] = field(default_factory=dict)
    vocabulary: Vocabulary = field(default_factory=Vocabulary, compare=False, repr=False)
    known_digests: Mapping[str, ImageDigest] = field(default_factory=dict)
    is_synthetic: bool = False

    @property
    def standing(self) -> tuple[BenchmarkItem, ...]:
        """The items that are not withdrawn."""
        return tuple(item for item in self.items if item.name not in self.errata)

    def has_image(self, item: BenchmarkItem) -> bool:
        """Whether the item names an image that this copy of the release has."""
        return item.image is not None and self.images.state(item.image) is not None

    def knowing(self, digests: Mapping[str, ImageDigest]) -> Benchmark:
        """Return the release with known image digests; unchanged if the images were read before."""
        return self if "pictures" in self.__dict__ else replace(self, known_digests=digests)

    @cached_property
    def pictures(self) -> Mapping[str, ImageDigest | None]:
        """Digest of every image by its path in the release; ``None`` if there is no file.

        Reads every unknown image once, on first use.
        """
        images = sorted({item.image for item in self.items if item.image is not None})
        pictures: dict[str, ImageDigest | None] = {
            image: digest
            for image in images
            if (digest := self.known_digests.get(image))
            and is_unchanged(self.images, image, digest)
        }
        rest = [image for image in images if image not in pictures]
        with ThreadPoolExecutor() as pool:
            pictures.update(
                zip(rest, pool.map(digest_image, [self.images] * len(rest), rest), strict=True)
            )
        return pictures

    @cached_property
    def image_digests(self) -> Mapping[str, str | None]:
        """SHA-256 of every image by its path in the release; ``None`` if it is unusable."""
        return {
            image: None if file is None else file.sha256 for image, file in self.pictures.items()
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all items and their images: identifies this benchmark.

        A restricted image counts by the pixel hash that the release publishes, so that the public,
        the private and the reconstructed release have the same digest; every other image counts by
        its file's bytes.
        """
        total = hashlib.sha256()
        for item in self.items:
            total.update(encode_item(item, self._picture(item)).encode())
        return total.hexdigest()

    def _picture(self, item: BenchmarkItem) -> dict[str, str | None]:
        if item.image is None:
            return {"image_sha256": None}
        if item.restricted:
            return {"pixel_sha256": self.pixels.get(item.image)}
        return {"image_sha256": self.image_digests[item.image]}


@collection_paused()
def load_benchmark(root: Path, *, pictures: bool = True) -> Benchmark:
    """Read and check every ``<SOURCE>/test.json`` and ``open.json`` directly below ``root``.

    A link may point within the release or, in a Hugging Face download, to the hub's file store;
    nothing else outside the release is ever opened. The words that the release declares apply to
    this benchmark only.

    Args:
        root: folder of the release.
        pictures: refuse a release with an image that must not be opened, because a link leads out
            of the release or it is not a regular file; not needed by callers that open none.

    Raises:
        ReleaseError: there is no such file, or one breaks a rule; the first problems are listed.
    """
    tables = find_tables(root)
    vocabulary = release_vocabulary(root)
    images = open_images(root)
    loader = _Loader(root, images if pictures else None)
    with using(vocabulary):
        for table in tables:
            loader.read(table)
    errata = loader.errata()
    items = loader.items_with_sets()
    problems = loader.problems
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems[:SHOWN_PROBLEMS])
        more = len(problems) - SHOWN_PROBLEMS
        tail = f"\n  and {more} more" if more > 0 else ""
        raise ReleaseError(
            f"{root}: {len(problems)} problem(s) in the release, no model is asked:\n{lines}{tail}"
        )
    return Benchmark(
        root=root,
        images=images,
        items=_restricted_together(items),
        pixels=read_pixel_hashes(root),
        errata=errata,
        unknown_forms=dict(sorted(loader.unknown_forms.items())),
        vocabulary=vocabulary,
        is_synthetic=states_synthetic(root),
    )


def _restricted_together(items: Sequence[BenchmarkItem]) -> tuple[BenchmarkItem, ...]:
    """Return the items, marking all items of a restricted image as restricted."""
    closed = {item.image for item in items if item.restricted} - {None}
    return tuple(
        replace(item, restricted=True) if item.image in closed and not item.restricted else item
        for item in items
    )


class _Loader:
    """Reads tables, and collects their items and problems."""

    def __init__(self, root: Path, images: ReleaseImages | None) -> None:
        self.items: list[BenchmarkItem] = []
        self.problems: list[str] = []
        self.unknown_forms: Counter[str] = Counter()
        self._root = root
        self._images = images
        self._names: dict[str, set[str]] = {}
        self._pictures: dict[str, str | None] = {}
        self._facts = {(dataset, name): facts for dataset, name, *facts in each_item_row(root)}
        tells_units = any(unit for _, _, unit, _ in self._facts.values())
        self._cases = {} if tells_units else read_case_units(root)

    def read(self, table: Path) -> None:
        name, folder = table.relative_to(self._root).as_posix(), table.parent.name
        parse = read_open_fields if table.name == OPEN_TABLE else read_row_fields
        try:
            with open_file(self._root, table) as file:
                for index, row in enumerate(read_list(file)):
                    if len(self.problems) >= MOST_PROBLEMS:
                        return
                    self._take(row, parse, folder, f"{name} item {index}")
        except BadJsonError as error:
            self.problems.append(f"{name}: cannot be read as JSON: {error}")
        except DamagedShardError:
            raise
        except ReleaseError as error:
            self.problems.append(str(error))

    def errata(self) -> dict[str, Erratum]:
        """Return the withdrawn items, once all tables are read."""
        try:
            rows = read_errata(self._root)
        except ReleaseError as error:
            self.problems.append(str(error))
            return {}
        for row in rows:
            if row.id not in self._names.get(row.dataset, ()) and not self.problems:
                self.problems.append(f"{ERRATA}: {row.name!r} is not an item of the release")
        return {row.name: row for row in rows}

    def items_with_sets(self) -> list[BenchmarkItem]:
        """Return the items, each with its set, once all tables are read.

        A set may name items that are not there, for example if a source was left out of a copy.
        """
        try:
            sets = read_item_sets(self._root)
        except ReleaseError as error:
            self.problems.append(str(error))
            return self.items
        if not sets:
            return self.items
        rows = {(item.dataset, item.id): item for item in self.items}
        for item_set in sets:
            member_ids = ((member.dataset, member.id) for member in item_set.members)
            if fault := fault_of_set([rows[place] for place in member_ids if place in rows]):
                self.problems.append(f"{SETS}: {item_set.id} {fault}")
        places = {
            (member.dataset, member.id): (item_set.id, member.role, item_set.size)
            for item_set in sets
            for member in item_set.members
        }
        return [
            replace(item, set=place[0], role=place[1], set_size=place[2])
            if (place := places.get((item.dataset, item.id)))
            else item
            for item in self.items
        ]

    def _take(
        self, row: Any, parse: Callable[[Any], dict[str, Any]], folder: str, where: str
    ) -> None:
        try:
            fields = parse(row)
        except UnknownFormError as error:
            self.unknown_forms[error.form] += 1
            return
        except BadRowError as error:
            self.problems.append(f"{where}: {error}")
            return
        dataset, name, image = held_once(fields["dataset"]), fields["id"], fields["image"]
        names = self._names.get(dataset)
        if names is None:
            names = self._names[dataset] = set()
        if name in names:
            self.problems.append(f"{where}: id {name!r} is used twice in {dataset}")
        names.add(name)
        if image is not None:
            image = held_once(f"{folder}/{image}")
            problem = self._problem_of(image, self._images) if self._images else None
            if problem is not None:
                self.problems.append(f"{where}: {problem}")
        fields["dataset"], fields["image"] = dataset, image
        fields["question"] = held_once(fields["question"])
        fields["original_task"] = held_once(fields["original_task"])
        unit = ""
        if facts := self._facts.pop((dataset, name), None):
            fields["visible"], fields["block"], unit, fact = facts
            fields["fact"] = held_once(fact)
        fields["unit"] = unit or self._cases.get(image or "", "")
        self.items.append(BenchmarkItem(**fields))

    def _problem_of(self, image: str, images: ReleaseImages) -> str | None:
        """Return why an image must not be opened; an absent image is not a problem here."""
        if image not in self._pictures:
            self._pictures[image] = None
            try:
                state = images.state(image)
            except DamagedShardError:  # concerns every image in it
                raise
            except ReleaseError as error:
                self._pictures[image] = str(error)
            else:
                if state is not None and state.size > LARGEST_PICTURE:
                    self._pictures[image] = (
                        f"{image}: has {state.size:,} bytes; expected at most {LARGEST_PICTURE:,}"
                    )
        return self._pictures[image]
