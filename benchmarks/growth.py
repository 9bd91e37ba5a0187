"""How the cost of each stage grows: processor time at three sizes, and the exponent of the growth.

Usage: ``python growth.py [--sizes N ...] [--only TEXT]``. Each stage gets a made-up batch of so
many questions, items or images, without pixels, in a process of its own; making the batch is not
counted. The exponent is the slope of the line through the logarithms of size and time: 1 is
linear, n log n shows as at most 1.1 at these sizes, 2 is quadratic. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import atexit
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import timing
from distractors import make_queries, make_sample

from medrcube.build.audit.batch_audit import audit_batch
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.shards import (
    digest_of_cases,
    in_portions,
    key_of_shard,
    name_of_portion,
)
from medrcube.build.incremental.state_table import FileState, StateTable
from medrcube.build.open_items.pairing.pairs import deal_pairs
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.open_items.repeats import bar_repeated
from medrcube.build.questions.compose import compose, place_keys
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.item_sets import deal_sets
from medrcube.build.questions.item_table import ChoiceItem, Option, items_from_frame, items_to_frame
from medrcube.build.questions.sampling.key_balance import drop_unbalanced
from medrcube.build.questions.sampling.two_option_quota import limit_two_option_items
from medrcube.build.similarity.near_duplicates import near_candidates
from medrcube.build.stages.deduplicate import bar_repeats
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, Grade, ImageRef, Label, Scope
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.distractor_safety import Evidence, SafetyRules
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

SIZES = (5_000, 20_000, 80_000)
LABELS = tuple(f"label {number:02}" for number in range(24))
VIEWS = ("AP", "LATERAL", "PA")

Work = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", default="", help="stages whose names hold this text")
    parser.add_argument("--one", nargs=2, metavar=("STAGE", "SIZE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        work = STAGES[args.one[0]](int(args.one[1]))
        idle, started = timing.peak_memory(), time.process_time()
        work()
        print(time.process_time() - started, timing.peak_memory() - idle)
        return
    sizes = " | ".join(f"{size:,}, s" for size in args.sizes)
    print(f"| Stage | {sizes} | Exponent | Memory at the largest, MB |")
    print("|---|" + "---|" * (len(args.sizes) + 2))
    for name in STAGES:
        if args.only in name:
            measured = [_measured(name, size) for size in args.sizes]
            seconds = [entry[0] for entry in measured]
            row = " | ".join(f"{second:.2f}" for second in seconds)
            slope = _exponent(args.sizes, seconds)
            print(f"| {name} | {row} | {slope:.2f} | {measured[-1][1] / 1e6:.0f} |", flush=True)


def _measured(name: str, size: int) -> tuple[float, float]:
    """Seconds of processor time, and bytes by which the peak of memory grew."""
    command = [sys.executable, str(Path(__file__)), "--one", name, str(size)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if process.returncode:
        sys.exit(f"{name} of {size} failed:\n{process.stderr[-3000:]}")
    seconds, memory = process.stdout.split()
    return float(seconds), float(memory)


def _exponent(sizes: list[int], seconds: list[float]) -> float:
    slope, _ = np.polyfit([math.log(size) for size in sizes], np.log(seconds), 1)
    return float(slope)


def _findings(size: int) -> Work:
    rules = SafetyRules()
    queries = make_queries(size, rules)
    return lambda: compose(queries, rules.terms, rules.relations)


def _views(size: int) -> Work:
    """One view of three is asked of each image, beside findings of which hardly two are alike."""
    rules, lots = SafetyRules(), random.Random(1)  # noqa: S311 -- a drawing of lots
    mark = Evidence(field="view", scope=Scope.IMAGE, grade=Grade.A)

    def view_of(query: QuestionCandidate) -> QuestionCandidate:
        key = lots.choice(VIEWS)
        others = {view: mark for view in VIEWS if view != key}
        ground = replace(
            query.ground,
            present={**query.ground.present, key: mark},
            absent={**query.ground.absent, **others},
        )
        task = Task("View Recognition")
        return replace(
            query, task=task, key=key, group="chest view", field="view", ground=ground, pool=()
        )

    queries = [view_of(query) for query in make_queries(size, rules)]
    return lambda: compose(queries, rules.terms, rules.relations)


def _repeats(size: int) -> Work:
    """All images are equal pixel for pixel."""
    queries = [
        replace(query, sample=replace(query.sample, pixel_sha256="same"))
        for query in make_queries(size, SafetyRules())
    ]
    return lambda: bar_repeats(queries)


def _open_questions(size: int, images: int) -> list[OpenQuestion]:
    task = Task("Presence")
    options = (("A", "Yes"), ("B", "No"))
    return [
        OpenQuestion(
            task=task,
            sample=replace(make_sample(number), pixel_sha256=f"{number % images:06}"),
            field="findings",
            concept="nodule",
            target=OptionTarget(options=options, key="AB"[number % 2]),
            role=("yes", "no")[number % 2],
        )
        for number in range(size)
    ]


def _open_repeats(size: int) -> Work:
    questions = _open_questions(size, 1)
    return lambda: list(bar_repeated(questions))


def _pairs(size: int, images: int) -> Work:
    questions = _open_questions(size, images)
    words: Mapping[int, tuple[str, ...]] = dict.fromkeys(range(size), ("nodule",))
    return lambda: deal_pairs(questions, words, 0)


def _pairs_of_one_patient(size: int) -> Work:
    """All questions are of one patient, and no image shows the finding."""
    questions = [
        replace(question, sample=replace(question.sample, patient="one"), role="no")
        for question in _open_questions(size, size)
    ]
    words: Mapping[int, tuple[str, ...]] = dict.fromkeys(range(size), ("nodule",))
    return lambda: deal_pairs(questions, words, 0)


def _batch(size: int) -> tuple[list[ChoiceItem], list[Sample]]:
    """Items of four sources, keys and options by lot; one in fifty shows a label always right."""
    lots = random.Random(2)  # noqa: S311 -- a drawing of lots
    return [_item(number, lots) for number in range(size)], [make_sample(n) for n in range(size)]


def _item(number: int, lots: random.Random) -> ChoiceItem:
    names = lots.sample(LABELS, lots.choice((2, 4, 4)))
    key = lots.randrange(len(names))
    if number % 50 == 0:
        names[key] = f"rare {number // 50 % 3}"
    options = tuple(
        Option(
            text=name,
            concept=name,
            ids=(),
            strategy="key" if place == key else "predefined",
            grade="" if place == key else "A",
            passed=(),
        )
        for place, name in enumerate(names)
    )
    return ChoiceItem(
        id=f"{number:016}",
        sample=f"{number:06}",
        source=f"source-{number % 4}",
        task="Abnormality Diagnosis",
        anatomy="Chest",
        modality="X-ray",
        question=f"Which finding is seen, in wording {number % 3}?",
        options=options,
        key=key,
        strategy="predefined",
        state="unreviewed",
        field="findings",
        concept=names[key],
        group="",
        scope="image",
        grade="A",
        ordered=False,
        variant="1",
        template="1",
        warnings=(),
        seed=0,
        block="one",
    )


def _of_items(work: Callable[[list[ChoiceItem]], object]) -> Callable[[int], Work]:
    def prepare(size: int) -> Work:
        items, _ = _batch(size)
        return lambda: work(items)

    return prepare


def _sets(size: int) -> Work:
    items, samples = _batch(size)
    one_list = [replace(item, options=items[1].options, key=n % 2) for n, item in enumerate(items)]
    of_id = {sample.id: replace(sample, patient="", case="one") for sample in samples}
    return lambda: deal_sets(one_list, of_id, 0)


def _audit(size: int) -> Work:
    items, samples = _batch(size)
    return lambda: audit_batch(samples, items, [], {})


def _images(size: int, hashes: int) -> list[Sample]:
    lots = random.Random(3)  # noqa: S311 -- a drawing of lots
    hashes_drawn = [f"{lots.getrandbits(64):016x}" for _ in range(hashes)]
    return [replace(make_sample(n), perceptual_hash=hashes_drawn[n % hashes]) for n in range(size)]


def _near(size: int, hashes: int) -> Work:
    images = _images(size, hashes)
    return lambda: near_candidates(images)


def _shards(size: int) -> Work:
    """Cases of one film each: shards parted, their keys taken, a small record of each kept."""
    source = find_sources()["nih-chestxray14"]
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    cases = [
        Case(
            key=f"{number:08}_000",
            images=(ImageRef(paths=(root / f"{number:08}_000.png",)),),
            labels=(Label(field="view", value="PA", evidence=f"table.csv:{number} view=PA"),),
        )
        for number in range(size)
    ]
    state = FileState(1, 2, 3, 4).packed()
    states = StateTable((f"{case.key}.png", state) for case in cases)
    tree = TreeSnapshot(root=root, states=states, blocked_files={}, linked=False, settled=True)

    def work() -> None:
        with BuildCache(root / "cache" / "build.sqlite3") as memory:
            for portion in in_portions(cases):
                name, files = name_of_portion(source.id, portion), [f"{c.key}.png" for c in portion]
                key = key_of_shard("common", digest_of_cases(portion, files), files, tree)
                memory.remember(name, str(key), b"record")
                memory.recall(name, str(key))
            memory.forget("shard/", ())

    return work


STAGES: Mapping[str, Callable[[int], Work]] = {
    "compose, findings": _findings,
    "compose, views": _views,
    "balance of keys": _of_items(drop_unbalanced),
    "places of keys": _of_items(lambda items: place_keys(items, 0)),
    "quota of two options": _of_items(lambda items: limit_two_option_items(items, 0.2, 0)),
    "table of items, written and read": _of_items(
        lambda items: items_from_frame(items_to_frame(items))
    ),
    "sets": _sets,
    "repeated images, all equal": _repeats,
    "repeated images, all equal, open": _open_repeats,
    "pairs": lambda size: _pairs(size, size),
    "pairs, few images": lambda size: _pairs(size, 10),
    "pairs, one image": lambda size: _pairs(size, 1),
    "pairs, one patient": _pairs_of_one_patient,
    "audit of a batch": _audit,
    "shards of a source": _shards,
    "near duplicates": lambda size: _near(size, size),
    "near duplicates, one hash": lambda size: _near(size, 1),
}


if __name__ == "__main__":
    main()
