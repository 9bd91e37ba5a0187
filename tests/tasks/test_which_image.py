"""Which image: numbered images of cases that are made for comparison, and for this task alone."""

from dataclasses import replace

import numpy as np
import pytest

from medrcube.build.open_items.authoring.trial_views import trial_views
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.pixels.panels import panel_order
from medrcube.build.questions.fact_rules import derive_questions
from medrcube.build.stages.plan import artefacts_of
from medrcube.facts import Label
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

TASK = Task("Which Image")
SOURCES = find_sources()
COMPARING = {"brats2021": 4, "isles2022": 2, "ixi": 2}


def a_view(truth="3", choices=4):
    view = next(iter(trial_views(TASK, SOURCES["brats2021"].card)))
    samples = tuple(
        replace(sample, truth=truth, choices=choices)
        for sample in view.samples
        if sample.artefact == "compared"
    )
    return replace(view, samples=samples)


@pytest.mark.parametrize(("truth", "choices"), [("1", 2), ("3", 4), ("4", 4)])
def test_the_options_are_the_numbers_in_order_and_the_key_is_that_of_the_image(truth, choices):
    [question] = open_questions(a_view(truth, choices))
    texts = [text for _, text in question.target.options]
    assert texts == [f"Image {number}" for number in range(1, choices + 1)]
    assert dict(question.target.options)[question.target.key] == f"Image {truth}"


def test_numbered_frames_are_left_to_the_published_task():
    view = a_view()
    frames = tuple(replace(sample, artefact="numbered") for sample in view.samples)
    assert list(open_questions(replace(view, samples=frames))) == []


@pytest.mark.parametrize(
    ("concept", "bar_reason"), [("T1", "another-image-too"), ("T1c", ""), ("T2", "")]
)
def test_no_image_is_asked_for_where_another_one_fits_as_well(concept, bar_reason, compared_brats):
    view = replace(a_view(), case=compared_brats)
    samples = tuple(replace(sample, marked=concept) for sample in view.samples)
    [question] = open_questions(replace(view, samples=samples))
    assert question.bar_reason == bar_reason


@pytest.fixture(scope="module")
def compared_brats(tmp_path_factory):
    """A compared case of BraTS, of which two images are T1-weighted."""
    source, raw = SOURCES["brats2021"], tmp_path_factory.mktemp("brats") / "raw"
    source.build_fixture(raw, source.card.layouts[0].name)
    from medrcube.build.stages.scan import scan  # noqa: PLC0415

    return next(case for case in scan(source, raw, bytes(32)).cases if case.compared)


@pytest.fixture(params=COMPARING)
def compared(request, tmp_path):
    """Card and compared cases of a source's fixture."""
    source = SOURCES[request.param]
    layout = source.card.layouts[0]
    source.build_fixture(tmp_path / "raw", layout.name)
    from medrcube.build.stages.scan import scan  # noqa: PLC0415

    cases = scan(source, tmp_path / "raw", bytes(32)).cases
    return source, [case for case in cases if case.compared]


def test_a_source_compares_images_of_one_patient(compared):
    source, cases = compared
    assert cases
    for case in cases:
        assert len(case.images) == len(case.panels) == COMPARING[source.id]
        [artefact] = artefacts_of(source.card, case)
        assert artefact.kind == "compared"
        assert artefact.concept in source.card.fields["sequence"].concepts()


def test_no_task_of_the_cube_asks_a_case_made_for_comparison(compared):
    source, cases = compared
    sample = next(iter(a_view().samples))
    for case in cases:
        assert derive_questions(source.card, case, [replace(sample, case=case.key)]) == []


def test_each_place_has_the_image_asked_for_equally_often():
    places = np.array([panel_order("toy", f"case {number}", 4) for number in range(4000)])
    shares = [(places[:, place] == 0).mean() for place in range(4)]
    assert max(abs(share - 0.25) for share in shares) < 3 * np.sqrt(0.25 * 0.75 / 4000)


def test_a_case_made_for_comparison_states_nothing_else(compared, tmp_path):
    from medrcube.errors import SourceError  # noqa: PLC0415
    from medrcube.sources._framework.case_checks import check_case  # noqa: PLC0415

    source, cases = compared
    label = Label(field="plane", value="axial", evidence="a row")
    with pytest.raises(SourceError, match="made for comparison"):
        check_case(source.card, replace(cases[0], labels=(label,)))


@pytest.mark.parametrize(
    ("concept", "called"),
    [
        ("ADC", "the apparent diffusion coefficient (ADC) map"),
        ("DWI", "the diffusion-weighted image (DWI)"),
        ("T1c", "the contrast-enhanced T1-weighted image"),
        ("MRA", "the magnetic resonance angiogram (MRA)"),
        ("end-systole", "the one that shows end-systole"),
    ],
)
def test_an_image_is_called_by_what_it_is_and_not_by_how_it_was_taken(concept, called):
    view = a_view()
    samples = tuple(replace(sample, marked=concept) for sample in view.samples)
    [question] = open_questions(replace(view, samples=samples))
    assert question.values["target"] == called
