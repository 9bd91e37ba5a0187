"""Options of a pair are drawn by lot among those that hold the answer, and do not tell it."""

from collections import defaultdict
from itertools import combinations

import pytest

from medrcube.build.open_items.compose import compose_open_items
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.stages.samples import Sample
from medrcube.facts import Grade, Visibility
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.terms import load_terms
from medrcube.taxonomy import Task
from medrcube.templates import package_wordings

RANGES = ("55% or higher", "40% to 54%", "30% to 39%", "Below 30%")
ABSTAIN = "Cannot be determined from this image alone"
VALUES = {"shown": "this echocardiographic image", "finding": "", "scale": "ranges", "of": "it"}


def sample(name, patient):
    return Sample(
        id=name, source="toy", case=name, artefact="clean", field="", marked="", truth="",
        choices=0, area=0.0, regions=0, image=f"{name}.png", pixel_sha256=name, perceptual_hash="",
        width=1, height=1, anatomy="Heart", modality="Ultrasound", patient=patient, split="",
        scope="image", licence="CC0-1.0", redistribute=True, frames="0", reason="", recipe="r",
    )  # fmt: skip


def questions(patients):
    """Two images of each patient, one of which hides a range of four, with each three of them."""
    for number in range(patients):
        truth = RANGES[number % 4]
        for name, key in (("pair", truth), ("frame", ABSTAIN)):
            image = sample(f"{name}{number}", f"p{number}")
            for offered in combinations(RANGES, 3):
                texts = (*offered, ABSTAIN)
                if key in texts:
                    yield OpenQuestion(
                        task=Task("Abstention"),
                        sample=image,
                        field="ejection_fraction",
                        concept="LVEF band",
                        target=OptionTarget(
                            options=tuple(zip("ABCD", texts, strict=True)),
                            key="ABCD"[texts.index(key)],
                        ),
                        values=VALUES,
                        prior=("toy", "one phase"),
                        stratum=("toy", f"p{number}", *texts),
                        role="shown" if name == "pair" else "hidden",
                    )


@pytest.fixture(scope="module")
def items():
    return compose_open_items(
        questions(80),
        load_terms(),
        package_wordings(),
        bar_counts={},
        evidence=Grade.B,
        least_visible=Visibility.PARTLY,
        seed=0,
        per_cell=None,
    ).items


def test_every_patient_has_one_pair_with_one_list_of_options(items):
    pairs = defaultdict(list)
    for item in items:
        pairs[item.set].append(item)
    assert len(pairs) == 80
    for first, second in pairs.values():
        assert first.target.options == second.target.options
        assert first.question == second.question
        assert {first.role, second.role} == {"shown", "hidden"}


def test_every_list_of_options_holds_each_of_its_ranges_as_an_answer(items):
    answers = defaultdict(set)
    for item in items:
        texts = tuple(text for _, text in item.target.options)
        answers[texts].add(dict(item.target.options)[item.target.key])
    assert len(answers) == 4
    assert all(keys == set(texts) for texts, keys in answers.items())


def test_always_abstaining_is_right_for_half_of_the_items_and_no_pair(items):
    assert {item.chance for item in items} == {0.5}
