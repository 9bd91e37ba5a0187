"""Few-shot examples: which items are used, without leaking the answer.

An example shows a question with its key. It must not be of the patient asked about, nor show the
same image in another file, or the prompt would contain the answer. If a release states neither
patients nor cases, only similar images can be excluded, and the run records that.

Examples have one order, determined by the seed: first those from the cell of the question (task,
modality, region), then from its task and modality, its task, the rest. So the questions of one cell
share their examples where possible, which a server can cache.

A run keeps the items that it was started with as its examples, even if its release gains images
later. A question keeps its examples too, unless one of them was withdrawn, or is now known to show
the image asked about.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.questions.conditions import Presentation
from medrcube.evaluate.questions.perceptual_hashes import perceptual_hashes
from medrcube.evaluate.runner.example_store import StoredExamples
from medrcube.perceptual_hash import MAX_DISTANCE

__all__ = ["MOST", "RULE", "ExamplePool", "FewShotSettings", "example_pool"]

MOST = 16
"""Maximum number of examples per question."""

RULE = "shots/1"
"""Changed whenever the same release and seed would give different examples."""

_TIERS: Mapping[str, Callable[[BenchmarkItem], tuple[str, ...]]] = {
    "cell": lambda item: (item.task, item.modality, item.parts),
    "task and modality": lambda item: (item.task, item.modality),
    "task": lambda item: (item.task,),
    "another task": lambda _item: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FewShotSettings:
    """The user's few-shot settings.

    Attributes:
        count: number of examples before each question.
        seed: seed of their order.
    """

    count: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise WorkspaceError(f"--shots {self.count}: expected a number from 1 to {MOST}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplePool:
    """Items of a release that may be examples.

    Attributes:
        shots: the user's settings.
        pool: items that may be examples, in the order of the draw.
        units: units of each image by its path; see ``units_known``.
        looks: perceptual hash of each image by its path.
        units_known: whether every item of the pool has a patient or case.
        withdrawn: names of withdrawn items, which are no longer used as examples.
        example_names: examples of earlier sessions; see ``StoredExamples``.
    """

    shots: FewShotSettings
    pool: tuple[BenchmarkItem, ...]
    units: Mapping[str, frozenset[str]]
    looks: Mapping[str, int]
    units_known: bool
    withdrawn: Collection[str] = frozenset()
    example_names: Mapping[tuple[str, str | None], Sequence[str]] = field(default_factory=dict)
    _tiers: dict[tuple[str, ...], list[BenchmarkItem]] = field(default_factory=dict)
    _by_name: dict[str, BenchmarkItem] = field(default_factory=dict)
    _examples: dict[tuple[str, str | None], list[tuple[str, BenchmarkItem]]] = field(
        default_factory=dict
    )

    @property
    def identity(self) -> dict[str, Json]:
        """Identity of the examples in a run's manifest."""
        names = "\n".join(f"{item.name} {item.image}" for item in self.pool)
        return {
            "count": self.shots.count,
            "seed": self.shots.seed,
            "rule": RULE,
            "pool": len(self.pool),
            "pool_digest": hashlib.sha256(names.encode()).hexdigest(),
            "apart_by": "unit and look" if self.units_known else "look alone",
        }

    def of(self, presentation: Presentation) -> tuple[BenchmarkItem, ...]:
        """Return the examples of a question.

        Raises:
            WorkspaceError: there are too few.
        """
        return tuple(item for _, item in self._examples_of(presentation))

    def tiers(self, presentations: Iterable[Presentation]) -> dict[str, int]:
        """Count the examples of these questions by tier."""
        counts = Counter(
            tier for presentation in presentations for tier, _ in self._examples_of(presentation)
        )
        return {tier: counts[tier] for tier in _TIERS if counts[tier]}

    def looks_by_digest(self, benchmark: Benchmark) -> dict[str, int]:
        """Return the perceptual hash of each image by its file's SHA-256, as a run stores it."""
        return {str(benchmark.image_digests[image]): look for image, look in self.looks.items()}

    def _examples_of(self, presentation: Presentation) -> list[tuple[str, BenchmarkItem]]:
        # Rotation, rewording and repetition do not change the examples.
        key = (presentation.item.name, presentation.image)
        if key not in self._examples:
            self._examples[key] = self._choose(presentation)
        return self._examples[key]

    def _choose(self, presentation: Presentation) -> list[tuple[str, BenchmarkItem]]:
        examples: list[tuple[str, BenchmarkItem]] = []
        for candidates in (self._earlier_examples(presentation), self._near(presentation.item)):
            apart = self._filter(presentation)
            fitting = (candidate for candidate in candidates if apart.takes(candidate[1]))
            examples = list(islice(fitting, self.shots.count))
            if len(examples) == self.shots.count:
                return examples
        raise WorkspaceError(
            f"--shots {self.shots.count}: {presentation.item.name} has "
            f"{counted(len(examples), 'example')} from other patients, with dissimilar images, "
            f"among {len(self.pool):,} items that may be examples; ask for fewer, or for none"
        )

    def _filter(self, presentation: Presentation) -> _ExampleFilter:
        # With a swapped image, neither the item's own nor the image shown may leak.
        images = {
            str(image)
            for image in (presentation.item.image, presentation.image)
            if image is not None
        }
        units = {unit for image in images for unit in self.units.get(image, ())}
        return _ExampleFilter(
            pool=self,
            names={presentation.item.name, *self.withdrawn},
            images=images,
            units=units | ({presentation.item.unit} - {""}),
            looks=[self.looks[image] for image in images if image in self.looks],
        )

    def _earlier_examples(self, presentation: Presentation) -> Iterator[tuple[str, BenchmarkItem]]:
        """Yield the examples of the question in an earlier session."""
        names = self.example_names.get((presentation.item.name, presentation.image), ())
        if not names:
            return
        by_name = self._by_name
        if not by_name:
            by_name.update({item.name: item for item in self.pool})
        for item in (by_name[name] for name in names if name in by_name):
            yield next(t for t, of in _TIERS.items() if of(item) == of(presentation.item)), item

    def _near(self, item: BenchmarkItem) -> Iterator[tuple[str, BenchmarkItem]]:
        """Yield candidates of the item's form by tier; in a tier those with a new answer first."""
        passed: set[str] = set()
        for tier, place in _TIERS.items():
            near = self._of_tier(tier, place(item))
            replies: set[str] = set()
            later = []
            for candidate in near:
                if candidate.name in passed or candidate.form != item.form:
                    continue
                passed.add(candidate.name)
                if candidate.right_reply in replies:
                    later.append(candidate)
                else:
                    replies.add(candidate.right_reply)
                    yield tier, candidate
            yield from ((tier, candidate) for candidate in later)

    def _of_tier(self, tier: str, place: tuple[str, ...]) -> list[BenchmarkItem]:
        if not self._tiers:
            for name, key in _TIERS.items():
                for item in self.pool:
                    self._tiers.setdefault((name, *key(item)), []).append(item)
        return self._tiers.get((tier, *place), [])


@dataclass(slots=True, kw_only=True)
class _ExampleFilter:
    """Excludes examples that could leak the answer to the question or to earlier examples."""

    pool: ExamplePool
    names: set[str]
    images: set[str]
    units: set[str]
    looks: list[int]

    def takes(self, item: BenchmarkItem) -> bool:
        """Whether an item may be an example; if so, it is excluded from then on."""
        image = str(item.image)
        units, look = self.pool.units.get(image, frozenset()), self.pool.looks[image]
        if item.name in self.names or image in self.images or self.units & units:
            return False
        if any((look ^ other).bit_count() <= MAX_DISTANCE for other in self.looks):
            return False
        self.images.add(image)
        self.units |= units
        self.looks.append(look)
        return True


def example_pool(
    benchmark: Benchmark,
    shots: FewShotSettings,
    items_to_ask: Iterable[BenchmarkItem],
    withheld: Iterable[str] = (),
    run_examples: StoredExamples | None = None,
) -> ExamplePool:
    """Return the example pool of a release; decodes every image without a stored perceptual hash.

    Args:
        benchmark: the release.
        shots: few-shot settings.
        items_to_ask: items of the run.
        withheld: sources whose images must not be sent: an example is sent as well.
        run_examples: examples and hashes that the run has stored.
    """
    run_examples, left_out = run_examples or StoredExamples(), set(withheld)
    usable = [image for image, digest in benchmark.image_digests.items() if digest is not None]
    looks = perceptual_hashes(benchmark, usable, run_examples.looks)
    may = (
        set(run_examples.pool)
        if run_examples.pool is not None
        else {i.name for i in benchmark.standing}
    )
    pool = [i for i in benchmark.items if i.image in looks and i.name in may]
    pool = [item for item in pool if item.dataset not in left_out]
    pool.sort(key=lambda item: hashlib.sha256(f"{shots.seed}:{item.name}".encode()).digest())
    units: dict[str, set[str]] = {}
    for item in (*benchmark.items, *items_to_ask):
        if item.image is not None:
            # Two files with the same bytes are the same image.
            mine = {f"picture {benchmark.image_digests.get(item.image)}"}
            units.setdefault(item.image, mine).update({item.unit} - {""})
    return ExamplePool(
        shots=shots,
        pool=tuple(pool),
        units={image: frozenset(mine) for image, mine in units.items()},
        looks=looks,
        units_known=all(item.unit for item in pool),
        withdrawn=frozenset(benchmark.errata),
        example_names=run_examples.example_names,
    )
