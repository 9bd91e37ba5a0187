"""Size, brightness and stated fields must not tell which image of a pair has the finding."""

import json
from dataclasses import replace

import pytest

from medrcube.build.audit.open_rules import OPEN_RULES, open_rules
from medrcube.build.audit.shortcuts import pair_split as pair_split_module
from medrcube.build.audit.shortcuts.pair_split import ALL_CUES, CUES, pair_size, pair_split
from medrcube.build.open_items.table import OpenItem
from medrcube.build.stages.samples import Sample
from medrcube.tasks.declaration import AUDITS

SAMPLE = Sample(
    id="s", source="toy", case="c", artefact="clean", field="", marked="", truth="", choices=0,
    area=0.0, regions=0, image="i.png", pixel_sha256="", perceptual_hash="", width=100, height=100,
    anatomy="Chest", modality="X-ray", patient="p", split="", scope="image", licence="CC0-1.0",
    redistribute=True, frames="0", reason="only one", recipe="r", file_bytes=1000, grey=100.0,
)  # fmt: skip
ITEM = OpenItem(
    id="i", sample="s", source="toy", task="Presence", anatomy="Chest", modality="X-ray",
    question="Is it?", form="option", ask="{}", truth="{}", chance=0.5, field="finding",
    concept="Edema", grade="A", visible="yes", variant="show", template="t", seed=0,
)  # fmt: skip


@pytest.fixture
def pairs():
    """Items and images of 60 pairs, each of a patient: ``pairs(grey=lambda n, yes: ...)``."""

    def make(task="Presence", patient=lambda number: f"p{number}", **cues):
        items, samples = [], []
        for number in range(60):
            for yes in (True, False):
                name = f"{number}-{(number * 7 + yes) % 2}"  # ids do not tell the roles
                cue_values = {cue: value(number, yes) for cue, value in cues.items()}
                samples.append(
                    replace(
                        SAMPLE,
                        id=name,
                        case=name,
                        patient=patient(number),
                        **{"pixel_sha256": name, **cue_values},
                    )
                )
                items.append(
                    replace(
                        ITEM,
                        id=name,
                        sample=name,
                        task=task,
                        set=f"pair-{number}",
                        role="yes" if yes else "no",
                    )
                )
        return items, samples

    return make


def score(rows, cue=ALL_CUES):
    (row,) = [row for row in rows if row["cue"] == cue]
    return row


@pytest.mark.parametrize(
    ("cue", "values"),
    [
        ("mean grey", {"grey": lambda number, yes: 100 + number % 9 + 5 * yes}),
        ("file size", {"file_bytes": lambda number, yes: 1000 + 10 * (number % 9) + 90 * yes}),
        ("image size", {"width": lambda number, yes: 100 + number % 9 + 20 * yes}),
        ("source fields", {"split": lambda _, yes: "train" if yes else "test"}),
    ],
)
def test_a_cue_that_goes_with_the_finding_breaks_the_rule(pairs, cue, values):
    items, samples = pairs(**values)
    rows = pair_split(items, samples)
    assert score(rows, cue)["accuracy"] > 0.9
    assert score(rows)["within"] is False
    verdict = open_rules(items, samples)["pair-split"]
    assert (verdict["holds"], verdict["level"]) == (False, "warning")
    assert "all of these" in verdict["message"]


def test_cues_that_tell_nothing_keep_the_rule(pairs):
    items, samples = pairs(
        grey=lambda number, yes: (number * 37 + 11 * yes) % 50,
        file_bytes=lambda number, yes: 1000 + (number * 53 + 29 * yes) % 90,
    )
    assert score(pair_split(items, samples))["within"] is True
    assert open_rules(items, samples)["pair-split"]["holds"] is True


def test_a_cue_of_the_patient_is_not_learnt_from_the_same_patient(pairs):
    values = {"grey": lambda number, yes: 100 * (number % 2) * (2 * yes - 1)}
    items, samples = pairs(patient=lambda _: "one", **values)
    assert pair_split(items, samples) == []


def test_equal_images_are_a_lot_and_not_a_hit(pairs):
    assert score(pair_split(*pairs()))["accuracy"] == 0.5


def test_single_cues_are_shown_and_not_judged(pairs):
    items, samples = pairs(grey=lambda number, yes: number + 50 * yes)
    assert {row["within"] for row in pair_split(items, samples) if row["cue"] != ALL_CUES} == {None}


def test_the_spread_of_a_source_is_measured_once_for_each_cue(pairs, monkeypatch):
    """Measured for each image, the audit took most of a release of 2,000 images."""
    measured = []
    monkeypatch.setattr(
        pair_split_module, "pstdev", lambda values: measured.append(len(values)) or 1.0
    )
    items, samples = pairs(grey=lambda number, yes: 100 + number % 9 + 5 * yes)
    pair_split(items, samples)
    numbers = sum(len(CUES[cue]) for cue in ("image size", "mean grey", "file size"))
    assert measured == [len(samples)] * (2 * numbers)  # together, and one by one


def test_numbers_are_standardized_within_their_source():
    greys = {"dark": (10, 20), "bright": (100, 300)}
    images = [
        replace(SAMPLE, id=f"{source}-{grey}", source=source, grey=float(grey))
        for source, values in greys.items()
        for grey in values
    ]
    features = pair_split_module._features(images, CUES["mean grey"])
    assert [features[image.id][0,] for image in images] == [-1.0, 1.0, -1.0, 1.0]


def test_items_of_no_pair_and_halves_of_pairs_are_left_out(pairs):
    items, samples = pairs(grey=lambda number, yes: (number * 37 + 11 * yes) % 50)
    alone = [replace(item, set="") for item in items[:2]]
    assert score(pair_split([*alone, *items[3:]], samples))["n"] == 58


def test_a_task_that_does_not_ask_for_the_rule_is_not_held_to_it(pairs):
    items, samples = pairs(task="Abstention", grey=lambda number, yes: number + 50 * yes)
    assert "pair-split" not in open_rules(items, samples)


def abstentions(pairs, **cues):
    """Pairs of which one image hides the answer."""
    items, samples = pairs(task="Abstention", **cues)
    roles = {"yes": "shown", "no": "hidden"}
    return [replace(item, role=roles[item.role]) for item in items], samples


def test_an_image_that_hides_the_answer_must_not_be_told_by_its_size(pairs):
    verdict = open_rules(*abstentions(pairs, width=lambda _, yes: 100 if yes else 200))["pair-size"]
    assert (verdict["holds"], verdict["level"]) == (False, "warning")
    verdict = open_rules(*abstentions(pairs, width=lambda number, _: 100 + number))["pair-size"]
    assert verdict["holds"] is True


def test_greys_may_tell_which_image_hides_the_answer(pairs):
    (row,) = pair_size(*abstentions(pairs, grey=lambda number, yes: number + 50 * yes))
    assert (row["cue"], row["accuracy"], row["within"]) == ("image size", 0.5, True)


def test_pairs_of_two_patients_that_share_an_image_are_one_witness(pairs):
    shared = lambda number, yes: f"{number // 10}" if yes else f"{number}-no"  # noqa: E731
    apart, joined = pair_split(*pairs()), pair_split(*pairs(pixel_sha256=shared))
    assert (score(apart)["groups"], score(joined)["groups"]) == (60, 6)


def boxes(place, chance, patients=40):
    """Items that ask for a box, ``place(number)`` in an image of 100 x 100, and their images."""
    items, samples = [], []
    for number in range(patients):
        name = f"b{number}"
        samples.append(replace(SAMPLE, id=name, case=name, patient=f"p{number}"))
        truth = {"size": [100, 100], "box": list(place(number)), "iou": 0.5}
        fields = {"task": "Box Grounding", "form": "box", "truth": json.dumps(truth)}
        items.append(
            replace(ITEM, id=name, sample=name, prior="toy; Edema", chance=chance, **fields)
        )
    return items, samples


def beside_the_grid(number):
    x, y = 3 * (number * 7 % 31), 3 * (number * 11 % 31)
    return (x, y, x + 7, y + 7)


@pytest.mark.parametrize(
    ("place", "chance", "holds"),
    [
        (lambda _: (30, 30, 70, 70), 0.0, False),
        (lambda _: (30, 30, 70, 70), 1.0, True),
        (beside_the_grid, 0.05, True),
    ],
    ids=["one-place", "one-place-and-it-is-said", "many-places"],
)
def test_a_fixed_place_passes_no_more_than_the_chance_says(place, chance, holds):
    verdict = open_rules(*boxes(place, chance))["place-prior"]
    assert verdict["holds"] is holds


def test_few_patients_are_not_judged_by_a_fixed_place():
    verdict = open_rules(*boxes(lambda _: (30, 30, 70, 70), 0.0, patients=9))["place-prior"]
    assert verdict["holds"] is None


def test_every_audit_that_a_declaration_may_name_is_measured():
    assert {rule.id for rule in OPEN_RULES} == set(AUDITS)
