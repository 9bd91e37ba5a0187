"""False alarms and power of the bounds of the audit, on batches that no demo has shown.

Run ``python benchmarks/audit_bounds.py`` (some minutes, one process). It writes
``benchmarks/audit_bounds.json`` and the block of ``docs/reference/audit.md`` made from it.

Every batch is made by chance, of seeds of its own, and goes through the rule that a release goes
through. Where nothing is leaked, what a rule refuses is a false alarm; where a known share of a
batch gives its answer away, what it refuses is its power.

- Numbered boxes are laid out by ``exchangeable_boxes`` around boxes of many sizes, in images of
  many sizes, of one to three sources, gathered at the middle, at one side, or nowhere.
- Points, boxes and numbers state the chance that the build would measure of their cell. Half of
  the batches are audited whole, half after a review that takes half of the items away by lot.
- Images of pairs have sizes, greys and file sizes by lot.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from medrcube.build.audit.leakage.box_geometry import MODEL, box_geometry
from medrcube.build.audit.shortcuts.number_shortcuts import BOUND_SE as NUMBER_SE
from medrcube.build.audit.shortcuts.number_shortcuts import constant_numbers, numbers_by_frame
from medrcube.build.audit.shortcuts.pair_split import ALL_CUES, pair_split
from medrcube.build.audit.shortcuts.place_prior import BOUND_SE as PLACE_SE
from medrcube.build.audit.shortcuts.place_prior import fixed_places
from medrcube.build.open_items.chance.blind_chance import blind_chances
from medrcube.build.open_items.pairing.image_cues import CueBalance
from medrcube.build.questions.box_exchangeability import SeededDraws, exchangeable_boxes
from medrcube.forms.box import BoxAsk, BoxTarget
from medrcube.forms.number import NumberAsk, NumberTarget
from medrcube.forms.point import PointAsk, PointTarget
from medrcube.forms.regions import PolygonRegion

_HERE = Path(__file__).parent
RESULT = _HERE / "audit_bounds.json"
PAGE = _HERE.parent / "docs/reference/audit.md"
BEGIN, END = "<!-- bounds: begin -->", "<!-- bounds: end -->"

SEED = 20_261_124
Draws = np.random.Generator
SHAPES = ((448, 448), (112, 112), (512, 400), (1024, 840), (300, 620), (96, 110))
"""Rows and columns of images."""
BATCHES = {"box": 400, "place": 300, "number": 600, "pair": 80}
"""Batches of each setting without a leak."""
LEAKY = 30
"""Batches of each setting with a leak."""
SIZES = {"box": (20, 60), "place": (10, 40), "number": (10, 40), "pair": (20,)}
"""Items, or pairs, of a batch."""
BOUNDS = (2.0, 3.0, 4.0)
"""Standard errors at which cells of points, boxes and numbers are tried."""
LEAKS = (0.3, 0.5)
"""Shares of a batch that give their answer away."""


def main() -> None:
    """Simulate the parts that are named, or all, and write the results; ``page`` alone rewrites."""
    names = sys.argv[1:] or [part.__name__ for part in PARTS]
    result = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.is_file() else {}
    for part in PARTS:
        if part.__name__ in names:
            result[part.__name__] = list(part())
            RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    text = f"{head}{BEGIN}\n\n{block(result)}\n\n{END}{tail}"
    PAGE.write_text(text, encoding="utf-8")


def _batches(part: str, leak: float) -> int:
    return LEAKY if leak else BATCHES[part]


def _draws(*names: object) -> Draws:
    return np.random.default_rng([SEED, *"/".join(map(str, names)).encode()])


# Numbered boxes


def numbered_boxes() -> Iterator[dict[str, Any]]:
    """Tricks and the model of ``box_geometry``."""
    for n in SIZES["box"]:
        for leak in (0.0, *LEAKS):
            batches = _batches("box", leak)
            tables = []
            for number in range(batches):
                draws = _draws("box", n, leak, number)
                tables.append(box_geometry(*_box_batch(draws, n, leak, f"{n}/{leak}/{number}")))
            shortcuts = [[row for row in rows if row["task"] != MODEL] for rows in tables]
            models = [rows[-1] for rows in tables]
            scores = [(row["accuracy"] - row["chance"]) / row["se"] for row in models if row["se"]]
            refused = [any(row["within"] is False for row in rows) for rows in shortcuts]
            of_all = sum(row["within"] is False for rows in shortcuts for row in rows)
            yield _row("box shortcuts, any of them", n, leak, refused)
            if not leak:
                yield _row_of("box shortcuts, each", n, leak, of_all, sum(map(len, shortcuts)))
            yield _row("box model", n, leak, [row["within"] is False for row in models]) | {
                "spread": float(np.std(scores))
            }


def _box_batch(draws: Draws, n: int, leak: float, name: str) -> tuple[list[Any], list[Any]]:
    """Items and images of one batch, of which a share has the box nearest the middle as key."""
    items, samples = [], []
    sources = [_BoxSource(draws) for _ in range(draws.integers(1, 4))]
    while len(items) < n:
        number = len(samples)
        source = sources[draws.integers(len(sources))]
        shape, true = source.draw(draws)
        turn = (int(draws.integers(100)), int(draws.integers(100)))
        lot = SeededDraws(f"{SEED}/{name}/{number}/{draws.integers(2**31)}")
        layout = exchangeable_boxes(lot, true, shape, turn)
        if layout is None:
            continue
        left, top, right, bottom = layout.window
        layout_boxes = [
            (x0 - left, y0 - top, x1 - left, y1 - top) for x0, y0, x1, y1 in layout.boxes[:4]
        ]
        order = draws.permutation(len(layout_boxes))
        boxes = [layout_boxes[place] for place in order]
        key = int(np.flatnonzero(order == 0)[0])
        width, height = right - left, bottom - top
        if len(items) < leak * n:
            key = min(
                range(len(boxes)),
                key=lambda place: math.hypot(
                    (boxes[place][0] + boxes[place][2]) / width - 1,
                    (boxes[place][1] + boxes[place][3]) / height - 1,
                ),
            )
        samples.append(
            SimpleNamespace(
                id=f"s{number:05}",
                source=source.name,
                case=f"c{number // source.each}",
                patient="",
                pixel_sha256="",
                width=width,
                height=height,
                boxes=", ".join(" ".join(map(str, box)) for box in boxes),
            )
        )
        items.append(
            SimpleNamespace(
                id=f"i{number:05}", sample=f"s{number:05}", options=[0] * len(boxes), key=key
            )
        )
    return items, samples


class _BoxSource:
    """A source: sizes of its images, and where and how large its findings are."""

    def __init__(self, draws: Draws) -> None:
        self.name = f"source {draws.integers(10**6)}"
        self.each = int(draws.integers(1, 4))
        self._shape = SHAPES[draws.integers(len(SHAPES))]
        self._middle = draws.uniform(0.3, 0.7, 2)
        self._spread = draws.choice([0.05, 0.15, 0.5])
        self._size = draws.uniform(0.06, 0.3)

    def draw(self, draws: Draws) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
        """Rows and columns of an image, and the box around what it shows."""
        rows, columns = self._shape
        sides = np.clip(self._size * draws.lognormal(0, 0.4, 2), 0.04, 0.45)
        width, height = (max(int(sides[0] * columns), 6), max(int(sides[1] * rows), 6))
        middle = self._middle + draws.normal(0, self._spread, 2)
        x0 = int(np.clip(middle[0] * columns - width / 2, 0, columns - width))
        y0 = int(np.clip(middle[1] * rows - height / 2, 0, rows - height))
        return self._shape, (x0, y0, x0 + width, y0 + height)


# Points, boxes and numbers


def open_cells() -> Iterator[dict[str, Any]]:
    """``place-prior``, ``constant`` and ``scale-prior``."""
    for part, rule, make, measure in (
        ("place", "place-prior, points", _point, fixed_places),
        ("place", "place-prior, boxes", _box, fixed_places),
        ("number", "constant", _number, constant_numbers),
        ("number", "scale-prior", _number, numbers_by_frame),
    ):
        for n in SIZES[part]:
            for leak in (0.0, *LEAKS):
                scores: dict[bool, list[float]] = {False: [], True: []}
                for number in range(_batches(part, leak)):
                    draws = _draws(rule, n, leak, number)
                    halved = bool(number % 2)
                    items, samples = _cell(draws, make, n, leak, halved=halved)
                    rows = measure(items, samples)
                    scores[halved] += map(_score, rows)
                for halved, what in ((False, "whole"), (True, "reviewed")):
                    for bound in BOUNDS:
                        refused = [score > bound for score in scores[halved]]
                        yield _row(f"{rule}, {what}, {bound:g} SE", n, leak, refused)


def _score(row: dict[str, Any]) -> float:
    """Standard errors above the chance."""
    above = row["accuracy"] - row["chance"]
    return above / row["se"] if row["se"] else math.copysign(math.inf, above) if above else 0.0


_Maker = Callable[..., tuple[Any, tuple[float, ...]]]


def _cell(
    draws: Draws, make: _Maker, n: int, leak: float, *, halved: bool
) -> tuple[list[Any], list[Any]]:
    """A cell of ``n`` items that state the chance of those that leak nothing."""
    law = SimpleNamespace(
        shape=SHAPES[draws.integers(len(SHAPES))],
        middles=draws.uniform(0.25, 0.75, (int(draws.integers(1, 3)), 2)),
        spread=float(draws.choice([0.04, 0.1, 0.2, 0.6])),
        size=float(draws.uniform(0.05, 0.35)),
        tolerance=float(draws.choice([0.05, 0.1, 0.2])),
        slope=float(draws.choice([0.0, 0.5, 1.0])),
        planted=draws.uniform(0.3, 0.7, 2),
        each=int(draws.integers(1, 3)),
    )
    pool = n * 2 if halved else n
    questions = []
    for number in range(pool):
        target, visible_values = make(draws, law, planted=False)
        questions.append(_question(number, law.each, target, visible_values))
    (chance,) = blind_chances(questions).values()
    places = sorted(draws.permutation(pool)[:n]) if halved else range(pool)
    sample = [questions[number] for number in places]
    for place in range(round(leak * n)):
        target, visible_values = make(draws, law, planted=True)
        sample[place] = _question(pool + place, law.each, target, visible_values)
    items = [
        SimpleNamespace(
            id=question.sample.id,
            task="Toy",
            prior="toy",
            form=question.target.form,
            target=question.target,
            chance=chance.share,
            sample=question.sample.id,
            seen=" ".join(f"{number:.6g}" for number in question.visible_values),
        )
        for question in sample
    ]
    return items, [question.sample for question in sample]


def _question(number: int, each: int, target: Any, visible_values: tuple[float, ...]) -> Any:
    sample = SimpleNamespace(
        id=f"s{number:05}", source="toy", patient=f"p{number // each}", case=f"c{number}"
    )
    return SimpleNamespace(
        task=SimpleNamespace(value="Toy"),
        prior=("toy",),
        concept="thing",
        sample=sample,
        target=target,
        visible_values=visible_values,
    )


def _corners(draws: Draws, law: Any, *, planted: bool) -> tuple[float, float, float, float]:
    rows, columns = law.shape
    size = law.size if planted else law.size * float(draws.lognormal(0, 0.3))
    sides = np.clip([size * columns, size * rows], 4, [0.6 * columns, 0.6 * rows])
    middle = (
        law.planted
        if planted
        else law.middles[draws.integers(len(law.middles))] + draws.normal(0, law.spread, 2)
    )
    places = np.clip(middle * [columns, rows] - sides / 2, 0, [columns, rows] - sides)
    x0, y0 = (float(round(place)) for place in places)
    return x0, y0, x0 + float(round(sides[0])), y0 + float(round(sides[1]))


def _point(draws: Draws, law: Any, *, planted: bool) -> tuple[Any, tuple[float, ...]]:
    x0, y0, x1, y1 = _corners(draws, law, planted=planted)
    region = PolygonRegion(polygons=(((x0, y0), (x1, y0), (x1, y1), (x0, y1)),))
    return PointTarget(ask=PointAsk(), size=law.shape[::-1], region=region, margin=1.0), ()


def _box(draws: Draws, law: Any, *, planted: bool) -> tuple[Any, tuple[float, ...]]:
    return BoxTarget(
        ask=BoxAsk(), size=law.shape[::-1], box=_corners(draws, law, planted=planted), iou=0.5
    ), ()


def _number(draws: Draws, law: Any, *, planted: bool) -> tuple[Any, tuple[float, ...]]:
    """A length spread evenly over its logarithm, which the frame may tell in part."""
    frame = float(draws.uniform(3, 6))
    value = 20.0 if planted else math.exp(draws.uniform(1.5, 5) + law.slope * (frame - 4.5))
    target = NumberTarget(
        ask=NumberAsk(unit="mm"),
        value=value,
        low=value * (1 - law.tolerance),
        high=value * (1 + law.tolerance),
    )
    return target, (frame, float(draws.normal(0, 0.2)))


# Pairs


def pairs() -> Iterator[dict[str, Any]]:
    """``pair-split`` on pairs dealt with ``CueBalance``, and on such dealt without it."""
    for n in SIZES["pair"]:
        for shift in (0.0, *SHIFTS):
            refused: dict[str, list[bool]] = {"with the limit": [], "without it": []}
            shares = []
            for number in range(_batches("pair", shift)):
                draws = _draws("pair", n, shift, number)
                images = {
                    role: [
                        _image(draws, f"{role}{k}", shift if role == "yes" else 0.0)
                        for k in range(2 * n)
                    ]
                    for role in ("no", "yes")
                }
                for name, dealt in (
                    ("with the limit", _dealt(images, n)),
                    ("without it", list(zip(images["no"][:n], images["yes"][:n], strict=True))),
                ):
                    if name == "with the limit":
                        shares.append(len(dealt) / n)
                    rows = pair_split(*_pair_items(dealt))
                    refused[name] += [
                        row["within"] is False for row in rows if row["cue"] == ALL_CUES
                    ]
            for name, verdicts in refused.items():
                extra = {"made": float(np.mean(shares))} if name == "with the limit" else {}
                yield _row(f"pair-split, {name}", n, shift, verdicts) | extra


SHIFTS = (0.5, 1.0)
"""Standard deviations by which images of "yes" are darker and compress to smaller files."""


def _image(draws: Draws, name: str, shift: float) -> Any:
    rows, columns = SHAPES[draws.integers(len(SHAPES))]
    return SimpleNamespace(
        id=name,
        source="toy",
        case=name,
        patient=name,
        pixel_sha256=name,
        width=columns,
        height=rows,
        file_bytes=int(math.exp(draws.normal(10.5 - 0.3 * shift, 0.3))),
        grey=float(draws.normal(90 - 20 * shift, 20)),
        split="",
        licence="CC0-1.0",
        graphics="",
        colour=False,
    )


def _dealt(images: dict[str, list[Any]], count: int) -> list[tuple[Any, Any]]:
    """As pairs are dealt in a build: each "no" takes the partner that costs least."""
    balance = CueBalance([image for own in images.values() for image in own])
    remaining, dealt = list(images["yes"]), []
    for first in images["no"]:
        if len(dealt) == count or not remaining:
            break
        costs = [balance.cost(first, second) for second in remaining[:64]]
        least = min(costs)
        if math.isfinite(least):
            second = remaining.pop(costs.index(least))
            balance.add(first, second)
            dealt.append((first, second))
    return dealt


def _pair_items(dealt: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    items = [
        SimpleNamespace(
            id=f"{place:04}{role}", task="Toy", set=f"pair-{place}", role=role, sample=image.id
        )
        for place, pair in enumerate(dealt)
        for role, image in zip(("no", "yes"), pair, strict=True)
    ]
    return items, [image for pair in dealt for image in pair]


# Results

PARTS = (numbered_boxes, open_cells, pairs)


def _row(rule: str, n: int, leak: float, refused: Sequence[bool]) -> dict[str, Any]:
    return _row_of(rule, n, leak, sum(refused), len(refused))


def _row_of(rule: str, n: int, leak: float, refused: int, batches: int) -> dict[str, Any]:
    row = {"rule": rule, "n": n, "leak": leak, "refused": refused, "batches": batches}
    print(row, file=sys.stderr, flush=True)
    return row


def interval(refused: int, batches: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson)."""
    z, share = 1.96, refused / batches
    middle = share + z * z / (2 * batches)
    half = z * math.sqrt(share * (1 - share) / batches + z * z / (4 * batches**2))
    scale = 1 + z * z / batches
    return max((middle - half) / scale, 0.0), min((middle + half) / scale, 1.0)


def block(result: dict[str, Any]) -> str:
    """The tables of the page: false alarms, and power."""
    rows = [row for part in PARTS for row in result[part.__name__]]
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    stated = [row for row in rows if "made" in row]
    shares = "; ".join(
        f"{n} wanted: {_shares([row['made'] for row in stated if row['n'] == n])}"
        for n in dict.fromkeys(row["n"] for row in stated)
    )
    spreads = [f"{row['spread']:.2f}" for row in rows if "spread" in row and not row["leak"]]
    shifts = ", ".join(f"{shift:g}" for shift in (0.0, *SHIFTS))
    lines = [
        "| Rule | items or pairs | false alarms | all sizes (95 % interval) |",
        "|---|---|---|---|",
        *(_alarms(rule, [row for row in rows if row["rule"] == rule]) for rule in rules),
        "",
        "| Rule | items or pairs | leak | refused |",
        "|---|---|---|---|",
        *(line for rule in rules if _is_in_use(rule) for line in _power(rule, rows)),
        "",
        f"Scores of the model of numbered boxes without a leak spread {', '.join(spreads)} times",
        "as far as their standard errors say, from the smallest batches to the largest. Of the",
        f"pairs wanted the limit of Presence lets through, at {shifts} SD: {shares}.",
    ]
    return "\n".join(lines)


def _alarms(rule: str, rows: Sequence[dict[str, Any]]) -> str:
    fair = [row for row in rows if not row["leak"]]
    refused, batches = (sum(row[key] for row in fair) for key in ("refused", "batches"))
    low, high = interval(refused, batches)
    sizes = ", ".join(str(row["n"]) for row in fair)
    counts = ", ".join(f"{row['refused']} of {row['batches']:,}" for row in fair)
    share = f"{100 * refused / batches:.2f} % ({100 * low:.2f} % to {100 * high:.2f} %)"
    return f"| {rule} | {sizes} | {counts} | {share} |"


def _power(rule: str, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    leaky = [row for row in rows if row["rule"] == rule and row["leak"]]
    for n in dict.fromkeys(row["n"] for row in leaky):
        own = [row for row in leaky if row["n"] == n]
        is_shift = rule.startswith("pair-split")
        leaks = (f"{row['leak']:g} SD" if is_shift else f"{100 * row['leak']:.0f} %" for row in own)
        shares = _shares([row["refused"] / row["batches"] for row in own])
        yield f"| {rule} | {n} | {', '.join(leaks)} | {shares} |"


def _is_in_use(rule: str) -> bool:
    """Whether a line is of the bound that the audit uses."""
    if not rule.endswith(" SE"):
        return True
    bound = PLACE_SE if rule.startswith("place") else NUMBER_SE
    return rule.endswith(f", {bound:g} SE")


def _shares(shares: Sequence[float]) -> str:
    return ", ".join(f"{100 * share:.0f} %" for share in shares)


if __name__ == "__main__":
    main()
