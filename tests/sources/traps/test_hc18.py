"""Traps of the evidence card `hc18`."""

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.build.regions.measure import measure
from medrcube.build.regions.rasterize import rasterise
from medrcube.sources._synthetic.images import write_picture
from medrcube.sources.registry import find_sources

UNTESTED = {
    "bytes-of-the-original-thin-outlines": "no copy has them; the fixture follows the page",
    "licence-file": "was not read: needs the record",
    "anomalies-excluded": "unverified; noted as a quirk",
    "made-up-test-table": "the test table is not read, so nothing of it is believed",
    "examinations-of-one-woman": "nothing tells which; noted as a quirk",
    "order-of-names-follows-the-size": "the build shuffles by hash; noted as a quirk",
    "ellipses-cut-by-the-border": "five of 999; geometry marks them as cut",
}
SOURCE, LAYOUT = "hc18", "zenodo"
TABLE = "training_set_pixel_size_and_HC.csv"
LARGE, SMALL, REPEATED = "training_set/426_4HC", "training_set/000_HC", "training_set/392_2HC"
TEST = "test_set/000_HC"


def _head(case):
    return rasterise(case.regions[0].shape, readers.read(case.images[0]))[0]


def _rewrite(path, change):
    with Image.open(path) as picture:
        density, pixels = picture.info.get("aspect", (None,))[0], np.asarray(picture)
    write_picture(path, change(pixels), density=density)


@pytest.fixture
def fails(edited_tree, build_tree):
    """``edit`` -> code of what becomes of the large head."""

    def make(edit):
        return build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).codes()[LARGE]

    return make


def test_circumference_is_stated_in_mm_of_every_training_picture(scan_fixture):
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        stated = [(quantity.field, quantity.unit) for quantity in case.quantities]
        expected = [("head_circumference", "mm")] if key.startswith("training_set") else []
        assert stated == expected


def test_circumference_is_that_of_the_table(scan_fixture, fixture_tree):
    rows = (fixture_tree(SOURCE, LAYOUT) / TABLE).read_text().splitlines()[1:]
    (stated,) = scan_fixture(SOURCE, LAYOUT).cases[LARGE].quantities
    assert f"426_4HC.png,{0.75:.12f},{stated.value:.2f}" in rows
    assert stated.evidence.startswith(f"{TABLE}:")


def test_line_around_the_head_marks_all_that_it_encloses(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[LARGE]
    with Image.open(case.regions[0].shape.paths[0]) as picture:
        line = np.asarray(picture) > 0
    head = _head(case)
    assert head.sum() > 10 * line.sum()
    assert head[line].all()


def test_filled_copy_of_an_outline_marks_the_same(edited_tree, scan_tree, scan_fixture):
    head = _head(scan_fixture(SOURCE, LAYOUT).cases[LARGE])

    def fill(root):
        _rewrite(root / f"{LARGE}_Annotation.png", lambda _: head.astype(np.uint8) * 255)

    case = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, fill)).cases[LARGE]
    assert (_head(case) == head).all()


def test_size_of_a_pixel_comes_from_the_file_and_measures_the_stated_circumference(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[LARGE]
    volume = find_sources()[SOURCE].hook("read")(case.images[0])
    length = measure(_head(case)).ellipse.circumference * volume.spacing[1]
    assert length == pytest.approx(case.quantities[0].value, rel=0.02)


def test_picture_stored_again_without_the_size_of_its_pixels_is_kept(edited_tree, build_tree):
    def forget(root):
        path = root / f"{LARGE}.png"
        with Image.open(path) as picture:
            pixels = np.asarray(picture)
        write_picture(path, pixels)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, forget))
    assert build.tasks_of(LARGE) >= {"Organ Recognition"}


def test_size_of_a_pixel_that_contradicts_the_table_is_refused(fails, replacing):
    assert fails(replacing(TABLE, f"426_4HC.png,{0.75:.12f}", "426_4HC.png,0.77")) == "pixel-size"


def test_circumference_that_contradicts_the_outline_is_refused(fails, scan_fixture, replacing):
    stated = scan_fixture(SOURCE, LAYOUT).cases[LARGE].quantities[0].value
    edit = replacing(TABLE, f",{stated:.2f}", f",{stated * 1.1:.2f}")
    assert fails(edit) == "circumference"


def test_open_line_is_refused(fails):
    def cut(root):
        _rewrite(root / f"{LARGE}_Annotation.png", lambda line: line * _right_half(line))

    assert fails(cut) == "circumference"


def _right_half(line):
    return (np.arange(line.shape[1]) > line.shape[1] // 2).astype(np.uint8)


def test_resized_edition_is_refused(fails):
    def shrink(root):
        for name in (f"{LARGE}.png", f"{LARGE}_Annotation.png"):
            _rewrite(root / name, lambda pixels: pixels[::2, ::2])

    assert fails(shrink) == "circumference"


def test_annotation_of_another_size_than_its_picture_is_refused(fails):
    def shrink(root):
        _rewrite(root / f"{LARGE}_Annotation.png", lambda pixels: pixels[::2, ::2])

    assert fails(shrink) == "mask-size"


def test_numbers_start_again_in_the_test_set(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[SMALL].images[0].paths[0].name == cases[TEST].images[0].paths[0].name
    assert (cases[SMALL].split, cases[TEST].split) == ("train", "test")


def test_number_of_the_examination_is_no_patient(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert {case.patient for case in cases.values()} == {None}
    assert dict(cases[LARGE].facts)["examination"] == "426"


def test_small_head_and_unmeasured_one_are_not_asked_what_they_are(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for key in (SMALL, TEST):
        assert build.items_of(key, "Organ Recognition") == []
    assert build.right_of(LARGE, "Organ Recognition") == {"fetal brain", "fetal head"}


def test_head_is_never_offered_beside_the_brain_within(build_fixture):
    for item in build_fixture(SOURCE, LAYOUT).items:
        offered = {option.concept for option in item.options}
        assert not {"fetal head", "fetal brain"} <= offered


def test_repeated_picture_is_dropped(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert REPEATED in build.codes()
    assert build.items_of(REPEATED) == []


def test_nobody_is_called_normal_or_graded(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert tasks == {"Modality Recognition", "Organ Recognition"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("426_4HC.png", "426_5HC.png", "expected a name such as 010_2HC.png"),
        (f"426_4HC.png,{0.75:.12f}", "426_4HC.png,0", "expected millimetres above zero"),
    ],
)
def test_row_that_is_none_of_the_release_is_set_aside(
    edited_tree, scan_tree, replacing, old, new, says
):
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, replacing(TABLE, old, new)))
    assert scan.bad_rows(says)


def test_circumference_in_cm_is_set_aside(edited_tree, survey, scan_fixture, replacing):
    stated = scan_fixture(SOURCE, LAYOUT).cases[LARGE].quantities[0].value
    edit = replacing(TABLE, f",{stated:.2f}", f",{stated / 10:.2f}")
    problems = survey(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).problems
    (message,) = (
        problem.message
        for problem in problems
        if (problem.case, problem.code) == (LARGE, "bad-row")
    )
    assert "is it in another unit, or mistyped" in message
