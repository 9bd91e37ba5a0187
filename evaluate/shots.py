"""Solved examples before a question: which items they are, and why never a wrong one.

An example shows a question with its key. It must not be of the patient that is asked about, nor
show the same picture in another file, or the answer stands in the prompt. Where a release tells no
patients and no cases, pictures that look alike are all that is known, and the run says so.

Examples come in one fixed order, drawn by the seed, from the cell of the question (task, modality,
region) first, then from its task and modality, its task, the rest. So the questions of one cell
have the same examples wherever they may, which a server may keep in its cache.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO

from medrcube.errors import MissingExtraError, WorkspaceError
from medrcube.evaluate.benchmark import Benchmark, Item
from medrcube.evaluate.conditions import Presentation
from medrcube.evaluate.images import UnusablePictureError, read_picture
from medrcube.evaluate.models.contract import Json

try:
    from PIL import Image

    from medrcube.look import DISTANCE, hash_of, shrunk
except ImportError as error:
    raise MissingExtraError(error.name or "numpy", "evaluate") from error

__all__ = ["MOST", "RULE", "Examples", "Shots", "examples"]

MOST = 16
"""So many examples may stand before a question."""

RULE = "shots/1"
"""Changes whenever the same release and seed would give other examples."""

_TIERS: Mapping[str, Callable[[Item], tuple[str, ...]]] = {
    "cell": lambda item: (item.task, item.modality, item.parts),
    "task and modality": lambda item: (item.task, item.modality),
    "task": lambda item: (item.task,),
    "another task": lambda _item: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shots:
    """What the user asks for.

    Attributes:
        count: examples before each question.
        seed: which ones.
    """

    count: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise WorkspaceError(f"--shots {self.count}: expected a number from 1 to {MOST}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Examples that a release can give.

    Attributes:
        shots: what was asked for.
        pool: items that may be examples, in the order of the draw.
        units: unit of each picture by its path; see ``units_known``.
        looks: hash of each picture by its path, of what it looks like.
        units_known: whether patients or cases are told of every item of the pool.
    """

    shots: Shots
    pool: tuple[Item, ...]
    units: Mapping[str, frozenset[str]]
    looks: Mapping[str, int]
    units_known: bool
    _tiers: dict[tuple[str, ...], list[Item]] = field(default_factory=dict)
    _made: dict[tuple[str, str | None], list[tuple[str, Item]]] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Json]:
        """What names the examples in a run's manifest."""
        names = "\n".join(f"{item.name} {item.image}" for item in self.pool)
        return {
            "count": self.shots.count,
            "seed": self.shots.seed,
            "rule": RULE,
            "pool": len(self.pool),
            "pool_digest": hashlib.sha256(names.encode()).hexdigest(),
            "apart_by": "unit and look" if self.units_known else "look alone",
        }

    def of(self, shown: Presentation) -> tuple[Item, ...]:
        """The examples of a question.

        Raises:
            WorkspaceError: there are too few.
        """
        return tuple(item for _, item in self._chosen(shown))

    def tiers(self, shown: Iterable[Presentation]) -> dict[str, int]:
        """How many examples of these questions are how near to their question."""
        found = Counter(tier for one in shown for tier, _ in self._chosen(one))
        return {tier: found[tier] for tier in _TIERS if found[tier]}

    def _chosen(self, shown: Presentation) -> list[tuple[str, Item]]:
        # Turned options, another wording and a repetition change nothing of it.
        key = (shown.item.name, shown.image)
        if key not in self._made:
            self._made[key] = self._choose(shown)
        return self._made[key]

    def _choose(self, shown: Presentation) -> list[tuple[str, Item]]:
        chosen: list[tuple[str, Item]] = []
        # An item that is asked with a picture of another must not learn of either.
        pictures = {shown.item.image, shown.image} - {None}
        units = {unit for image in pictures for unit in self._units(str(image))}
        units |= {shown.item.unit} - {""}
        looks = [self.looks[str(image)] for image in pictures if image in self.looks]
        for tier, item in self._near(shown.item):
            if len(chosen) == self.shots.count:
                return chosen
            mine, look = self._units(str(item.image)), self.looks[str(item.image)]
            if item.name == shown.item.name or item.image in pictures or units & mine:
                continue
            if any((look ^ other).bit_count() <= DISTANCE for other in looks):
                continue
            chosen.append((tier, item))
            # Nor are two examples of one patient.
            units |= mine
            looks.append(look)
            pictures.add(item.image)
        if len(chosen) < self.shots.count:
            raise WorkspaceError(
                f"--shots {self.shots.count}: {shown.item.name} has {len(chosen)} examples of "
                f"other patients and of pictures that do not look alike, in a release of which "
                f"{len(self.pool):,} items may be examples; ask for fewer, or for none"
            )
        return chosen

    def _near(self, item: Item) -> Iterator[tuple[str, Item]]:
        """The nearest first; within a tier those whose letter was not the key yet."""
        passed: set[str] = set()
        for tier, place in _TIERS.items():
            near = self._of_tier(tier, place(item))
            letters: set[str] = set()
            later = []
            for one in near:
                if one.name in passed:
                    continue
                passed.add(one.name)
                if one.key in letters:
                    later.append(one)
                else:
                    letters.add(one.key)
                    yield tier, one
            yield from ((tier, one) for one in later)

    def _of_tier(self, tier: str, place: tuple[str, ...]) -> list[Item]:
        if not self._tiers:
            for name, key in _TIERS.items():
                for item in self.pool:
                    self._tiers.setdefault((name, *key(item)), []).append(item)
        return self._tiers.get((tier, *place), [])

    def _units(self, image: str) -> frozenset[str]:
        return self.units.get(image, frozenset())


def examples(
    benchmark: Benchmark, shots: Shots, asked: Iterable[Item], withheld: Iterable[str] = ()
) -> Examples:
    """The examples of a release; reads every picture that is asked or may be an example.

    Args:
        benchmark: the release.
        shots: what is wanted.
        asked: items that are asked.
        withheld: sources whose pictures must not be sent: an example is sent as well.
    """
    left_out = set(withheld)
    usable = {image for image, digest in benchmark.image_digests.items() if digest is not None}
    looks = _looks(benchmark, usable)
    pool = [i for i in benchmark.items if i.image in looks and i.dataset not in left_out]
    pool = [item for item in pool if item.name not in benchmark.errata]
    pool.sort(key=lambda item: hashlib.sha256(f"{shots.seed}:{item.name}".encode()).digest())
    units: dict[str, set[str]] = {}
    for item in (*benchmark.items, *asked):
        if item.image is not None:
            # Two files of the same bytes are one picture.
            mine = {f"picture {benchmark.image_digests.get(item.image)}"}
            units.setdefault(item.image, mine).update({item.unit} - {""})
    return Examples(
        shots=shots,
        pool=tuple(pool),
        units={image: frozenset(mine) for image, mine in units.items()},
        looks=looks,
        units_known=all(item.unit for item in pool),
    )


def _looks(benchmark: Benchmark, images: Iterable[str]) -> dict[str, int]:
    """What pictures look like; those that cannot be decoded are no examples."""

    def look(image: str) -> int | None:
        try:
            data = read_picture(benchmark.root / image, root=benchmark.root).data
            with Image.open(BytesIO(data)) as picture:
                return int(hash_of(shrunk(picture)[None])[0])
        except (
            UnusablePictureError,
            OSError,
            ValueError,
            SyntaxError,
            Image.DecompressionBombError,
        ):
            return None

    wanted = sorted(images)
    with ThreadPoolExecutor() as pool:
        found = zip(wanted, pool.map(look, wanted), strict=True)
        return {image: hashed for image, hashed in found if hashed is not None}
