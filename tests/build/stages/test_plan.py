from collections import Counter
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.stages.plan import artefacts_of, picture_names, plan_jobs
from medrcube.facts import Case, ImageRef, Label
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

ACDC = find_sources()["acdc"].card


def test_a_readable_key_becomes_the_published_name():
    assert picture_names(["benign (277)"]) == {"benign (277)": "benign_277"}


def test_keys_that_would_share_a_name_stay_apart():
    names = picture_names(["image (42)", "image(42)", "IMAGE 42", "other"])
    assert len({name.lower() for name in names.values()}) == 4
    assert names["other"] == "other"


@given(keys=st.lists(st.text(min_size=1), unique=True, max_size=8))
def test_names_are_unique_and_safe_for_any_key(keys):
    names = picture_names(keys)
    assert len({name.lower() for name in names.values()}) == len(keys)
    for name in names.values():
        assert name
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_")
        assert not name.startswith(".")
        assert len(name) < 150


def test_a_case_gets_a_clean_picture_and_one_mark_for_each_concept(toy, raw):
    jobs = plan_jobs(toy, raw, list(toy.scan(raw, "flat")))
    assert [artefact.kind for artefact in jobs[0].artefacts] == ["clean", "boxes"]
    assert jobs[0].artefacts[1].concept == "glioma"
    assert jobs[0].artefacts[1].suffix == ".boxes-glioma"
    assert jobs[0].hooks == ""


def test_the_subfolder_of_images_depends_on_their_name_alone(toy, raw):
    cases = list(toy.scan(raw, "flat"))
    names = {case.key: f"image-{number}" for number, case in enumerate(cases)}
    jobs = plan_jobs(toy, raw, cases, names)
    alone = plan_jobs(toy, raw, cases[1:2], {cases[1].key: "image-1"})
    assert alone[0].place == jobs[1].place == "0c/image-1"


def test_subfolders_share_images_evenly(toy, raw):
    (job,) = plan_jobs(toy, raw, list(toy.scan(raw, "flat"))[:1])
    places = [replace(job, name=f"{number:08}_000").place for number in range(25_600)]
    counts = Counter(place.partition("/")[0] for place in places)
    assert len(counts) == 256
    assert max(counts.values()) < 150


def test_a_case_may_have_a_window_of_its_own(toy, raw):
    first, *rest = toy.scan(raw, "flat")
    jobs = plan_jobs(toy, raw, [replace(first, window="ct:lung"), *rest])
    assert jobs[0].policy == replace(toy.card.pixels, window="ct:lung")
    assert jobs[1].policy == toy.card.pixels


def pair(*values):
    """A case of ACDC with images side by side, each of a phase."""
    labels = tuple(Label(field="phase", value=value, evidence="t") for value in values)
    images = tuple(ImageRef(paths=(Path(f"{n}.nii"),)) for n, _ in enumerate(values))
    return Case(key="p1", images=images, panels=labels)


def numbered(case, *tasks):
    artefacts = artefacts_of(replace(ACDC, tasks=tasks), case)
    return [entry.concept for entry in artefacts if entry.kind == "numbered"]


def test_images_that_show_different_facts_are_numbered_and_one_fact_is_asked_for():
    (fact,) = numbered(pair("ED", "ES"), Task("Imaging Protocols Recognition"))
    assert fact in {"end-diastole", "end-systole"}


def test_a_fact_that_two_images_show_is_not_asked_for():
    assert numbered(pair("ED", "ES", "ED"), Task("Imaging Protocols Recognition")) == [
        "end-systole"
    ]
    assert numbered(pair("ED", "ED"), Task("Imaging Protocols Recognition")) == []


def test_images_are_not_numbered_without_panels_or_for_another_task():
    assert (
        numbered(replace(pair("ED", "ES"), panels=()), Task("Imaging Protocols Recognition")) == []
    )
    assert numbered(pair("ED", "ES"), Task("View Recognition")) == []


def test_both_facts_are_asked_for_in_the_long_run():
    facts = [
        numbered(replace(pair("ED", "ES"), key=f"p{n}"), Task("Imaging Protocols Recognition"))[0]
        for n in range(200)
    ]
    assert 70 < facts.count("end-systole") < 130
