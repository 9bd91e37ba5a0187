"""Traps of the evidence card `tbx11k`."""

import json

import pytest

from medrcube.errors import TableError
from medrcube.facts import LabelState
from medrcube.sources._formats.annotations.coco import read_coco
from medrcube.sources.registry import find_sources

UNTESTED = {
    "classes-told-by-exposure": "a shortcut that no copy can be rid of",
    "films-that-repeat": "said of the set; the build finds repeated images in every source",
    "squeezed-films": "the shape of the originals is not known",
}
SOURCE, LAYOUT = "tbx11k", "official"
CARD = find_sources()[SOURCE].card
TRAIN = "TBX11K/annotations/json/TBX11K_train.json"
DISEASE, REGION = "Disease Diagnosis", "ROI Grounding"


@pytest.fixture
def fixture_scan(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT)


@pytest.fixture
def build(build_fixture):
    return build_fixture(SOURCE, LAYOUT)


@pytest.fixture
def annotated(edited_tree, scan_tree):
    """A scan of the fixture after ``change`` of the annotations of the training part."""

    def make(change):
        def edit(root):
            data = json.loads((root / TRAIN).read_text())
            change(data)
            (root / TRAIN).write_text(json.dumps(data))

        return scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))

    return make


def test_splits_are_those_of_the_annotation_files(fixture_scan):
    assert fixture_scan.cases["tb0005"].split == "train"
    assert fixture_scan.cases["tb0003"].split == "val"


def test_film_of_tuberculosis_without_a_box_is_of_no_known_class(fixture_scan, build):
    assert fixture_scan.states("tb1199", "film") == {"tb": LabelState.UNKNOWN}
    assert DISEASE not in build.tasks_of("tb1199")


def test_film_with_both_kinds_is_not_asked_for_its_activity(fixture_scan, build):
    assert set(fixture_scan.states("tb0135", "activity").values()) == {LabelState.UNKNOWN}
    assert build.right_of("tb0135", DISEASE) == {"Tuberculosis"}


def test_film_with_one_kind_is_asked_for_it(build):
    right = {"Tuberculosis", "active pulmonary tuberculosis"}
    assert build.right_of("tb0005", DISEASE) == right


def test_healed_film_is_asked_for_its_activity_and_never_said_to_show_the_disease(
    fixture_scan, build
):
    assert fixture_scan.states("tb0007", "film") == {"tb": LabelState.UNKNOWN}
    assert build.right_of("tb0007", DISEASE) == {"inactive pulmonary tuberculosis"}
    options = [
        option.concept for item in build.items_of("tb0007", DISEASE) for option in item.options
    ]
    assert not {"Tuberculosis", "No Finding"} & {*options}


def test_film_whose_boxes_leave_the_activity_open_has_no_known_class(fixture_scan):
    assert fixture_scan.states("tb0004", "film") == {"tb": LabelState.UNKNOWN}


def test_kind_and_parent_are_never_options_of_one_item(build):
    for item in build.items_of("tb0005", DISEASE):
        concepts = {option.concept for option in item.options}
        assert not {"Tuberculosis", "active pulmonary tuberculosis"} <= concepts


def test_uncertain_category_is_known_and_not_asked(fixture_scan, build):
    assert fixture_scan.states("tb0004", "activity") == {
        "PulmonaryTuberculosis": LabelState.PRESENT
    }
    assert CARD.fields["activity"].concept("PulmonaryTuberculosis") is None
    assert REGION not in build.tasks_of("tb0004")


def test_sick_film_has_no_named_disease_and_none_of_its_findings_is_denied(fixture_scan, build):
    assert build.right_of("s0001", DISEASE) == {"chest disease other than tuberculosis"}
    assert fixture_scan.states("s0001", "film") == {"sick": LabelState.PRESENT}
    assert not any(label.state is LabelState.ABSENT for label in fixture_scan.cases["s0001"].labels)


def test_healthy_film_is_asked_as_normal(build):
    assert build.right_of("h0001", DISEASE) == {"No Finding"}


def test_several_boxes_of_one_kind_are_not_asked_for_a_place(build):
    assert REGION not in build.tasks_of("tb0007")


def test_box_lies_where_the_file_says(fixture_scan):
    (region,) = fixture_scan.cases["tb0005"].regions
    x0, y0, x1, y1 = region.shape.xyxy
    assert (x0 % 1, y0 % 1) == (0.25, 0.25)
    assert 10 < x1 - x0 < 100
    assert 10 < y1 - y0 < 100
    assert region.shape.frame == (512, 512)


def test_film_of_another_class_with_a_box_is_set_aside(annotated):
    annotation = annotated(lambda data: data["annotations"][0].update(image_id=5))
    assert annotation.bad_rows("boxes in films of tuberculosis alone") == {"h0001"}


@pytest.mark.parametrize(
    "entry",
    [{"file_name": "tb0005.png"}, {"file_name": "extra/p1.png"}, {"width": 1024}],
)
def test_image_of_another_edition_is_refused(annotated, entry):
    assert annotated(lambda data: data["images"][0].update(entry)).bad_rows("another edition")


def test_box_without_an_area_sets_its_film_aside(annotated):
    annotation = annotated(lambda data: data["annotations"][0].update(bbox=[10, 10, 0.5, 40]))
    assert annotation.bad_rows("is not a box") == {"tb0005"}


def test_grey_in_three_channels_is_shown_as_grey(build):
    assert build.pixels(build.sample("h0001")).ndim == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["annotations"][0].update(category_id=9),
        lambda data: data["annotations"][0].update(image_id=99),
        lambda data: data["annotations"][0].update(bbox=[1, 2, 3]),
        lambda data: data["images"][0].update(id=2),
        lambda data: data.pop("categories"),
    ],
)
def test_annotation_file_that_contradicts_itself_is_refused(fixture_tree, tmp_path, change):
    data = json.loads((fixture_tree(SOURCE, LAYOUT) / TRAIN).read_text())
    change(data)
    path = tmp_path / "TBX11K_train.json"
    path.write_text(json.dumps(data))
    with pytest.raises(TableError, match="get it again"):
        read_coco(path)


def test_films_of_older_collections_are_declared_and_left_alone(fixture_scan):
    assert {"montgomery-tb", "shenzhen-tb"} <= {overlap.source for overlap in CARD.overlaps}
    assert not [key for key in fixture_scan.cases if key.startswith(("n1", "t0"))]
