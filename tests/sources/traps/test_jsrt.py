"""Traps of the evidence card `jsrt`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "bone-suppressed-edition": "its file content is not described, so it cannot be told apart",
    "chosen-for-solitary-nodules": "how common they are means nothing; nothing asks it",
    "size-is-one-number": "the true outline is not known; the box is approximate",
    "markers-at-the-edges": "no list of films; advice to reviewers",
}
SOURCE = "jsrt"
CARD = find_sources()[SOURCE].card
NODULES, NORMALS = "Clinical_Information/CLNDAT_EN.txt", "Clinical_Information/CNNDAT_EN.TXT"
PLAIN, FAINT, LOCATED, ADULT, YOUNG = "JPCLN001", "JPCLN002", "JPCLN106", "JPCNN001", "JPCNN002"
FINDINGS, PLACES = "Abnormality Diagnosis", "ROI Grounding"


def _read(case):
    return find_sources()[SOURCE].hook("read")(case.images[0])


def _box(case):
    (shape,) = (region.shape for region in case.regions if region.field == "nodule")
    return shape.xyxy


@pytest.mark.thorough
@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
def test_tables_are_read_with_any_line_end(edited_tree, scan_tree, scan_fixture, end):
    def resave(root):
        for name in (NODULES, NORMALS):
            text = (root / name).read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            (root / name).write_bytes(text.replace(b"\n", end))

    scan = scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", resave))
    expected = scan_fixture(SOURCE, "raw").cases
    assert {key: case.facts for key, case in scan.cases.items()} == {
        key: case.facts for key, case in expected.items()
    }


def test_fields_cut_at_fixed_columns_and_whole_ones_give_the_same(
    edited_tree, scan_tree, replacing
):
    edit = replacing(NODULES, "l.upper\tlobe\tlung cancer(\tadeno)", "l.upper lobe\tlung cancer")
    cases = scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", edit)).cases
    assert cases[PLAIN].facts == (("sex", "male"), ("age", "53"))


def test_fields_parted_by_blanks_are_read(edited_tree, scan_tree):
    def blank(root):
        path = root / NODULES
        path.write_bytes(path.read_bytes().replace(b"\t", b"  "))

    cases = scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", blank)).cases
    assert cases[PLAIN].facts == (("sex", "male"), ("age", "53"))


def test_film_with_a_row_of_another_form_is_set_aside(edited_tree, scan_tree, replacing):
    root = edited_tree(SOURCE, "raw", replacing(NODULES, "\t1634\t692\t", "\t"))
    scan = scan_tree(SOURCE, "raw", root)
    assert scan.bad_rows("CLNDAT_EN.txt:1: ") == scan.bad_rows("is not a row") == {PLAIN}


def test_film_without_a_row_is_set_aside(edited_tree, scan_tree):
    def add(root):
        shutil.copy(root / "All247images/JPCNN001.IMG", root / "All247images/JPCNN093.IMG")

    scan = scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", add))
    assert scan.bad_rows("no row of this film") == {"JPCNN093"}


def test_question_mark_is_no_age(scan_fixture):
    assert scan_fixture(SOURCE, "raw").cases[LOCATED].facts == (("sex", "female"),)


def test_bytes_in_the_other_order_are_refused(edited_tree, build_tree):
    def swap(root):
        path = root / f"All247images/{PLAIN}.IMG"
        path.write_bytes(np.fromfile(path, ">u2").astype("<u2").tobytes())

    assert build_tree(SOURCE, edited_tree(SOURCE, "raw", swap)).codes()[PLAIN] == "wrong-layout"


def test_film_of_another_length_is_refused(edited_tree, build_tree):
    def cut(root):
        path = root / f"All247images/{PLAIN}.IMG"
        path.write_bytes(path.read_bytes()[:-2])

    assert build_tree(SOURCE, edited_tree(SOURCE, "raw", cut)).codes()[PLAIN] == "file-size"


@pytest.mark.thorough
@pytest.mark.parametrize("layout", ["raw", "kaggle"])
def test_high_values_of_the_films_are_dark_and_bone_is_shown_bright(build_fixture, layout):
    build = build_fixture(SOURCE, layout)
    pixels = build.pixels(build.sample(ADULT)).astype(float)
    assert pixels.shape == (1024, 1024)
    assert pixels[100, 150] > 200  # the marker, at the upper left
    assert pixels[-20:, -20:].mean() < 30


def test_inverted_picture_of_the_copy_is_refused(edited_tree, build_tree):
    def invert(root):
        path = root / f"images/images/{ADULT}.png"
        with Image.open(path) as film:
            Image.fromarray(255 - np.asarray(film)).save(path)

    codes = build_tree(SOURCE, edited_tree(SOURCE, "kaggle", invert)).codes()
    assert codes[ADULT] == "inverted-tone"


def test_picture_of_the_copy_with_16_bits_is_refused(edited_tree, build_tree):
    def widen(root):
        path = root / f"images/images/{ADULT}.png"
        with Image.open(path) as film:
            Image.fromarray(np.asarray(film).astype(np.uint16) * 257).save(path)

    assert build_tree(SOURCE, edited_tree(SOURCE, "kaggle", widen)).codes()[ADULT] == "not-8-bit"


def test_picture_of_an_odd_size_is_set_aside_and_no_failure(edited_tree, build_tree):
    def shrink(root):
        path = root / f"images/images/{ADULT}.png"
        with Image.open(path) as film:
            film.resize((512, 512)).save(path)

    rows = build_tree(SOURCE, edited_tree(SOURCE, "kaggle", shrink)).quarantine
    (row,) = rows[rows["case"] == ADULT].to_dict("records")
    assert (row["code"], row["stage"]) == ("film-size", "select")


def test_size_of_a_nodule_is_in_millimetres_and_its_box_in_pixels(scan_fixture):
    x0, y0, x1, y1 = _box(scan_fixture(SOURCE, "raw").cases[PLAIN])
    assert x1 - x0 == y1 - y0 == pytest.approx(30 / 0.175 / 2)  # the film is halved
    assert ((x0 + x1) / 2, (y0 + y1) / 2) == pytest.approx((1634 / 2, 692 / 2))


def test_box_lies_on_the_nodule(scan_fixture):
    case = scan_fixture(SOURCE, "raw").cases[LOCATED]
    region = next(region for region in case.regions if region.field == "nodule")
    volume = _read(case)
    inside = rasterise(region.shape, volume)[0]
    assert inside.shape == (1024, 1024)
    pixels = 4095 - volume.slices[0].astype(float)
    x0, y0, x1, y1 = map(int, region.shape.xyxy)
    middle = pixels[(y0 + y1) // 2, (x0 + x1) // 2]
    assert middle > 1.2 * np.median(pixels[(y0 + y1) // 2, x1 + 40 : x1 + 80])


def test_box_is_cut_at_the_edge_of_the_film(edited_tree, scan_tree, replacing):
    edit = replacing(NODULES, "\t1634\t692\t", "\t40\t2040\t")
    x0, _, _, y1 = _box(scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", edit)).cases[PLAIN])
    assert (x0, y1) == (0, 1024)


def test_nodule_of_the_right_lung_lies_at_the_left_of_the_picture(scan_fixture):
    cases = scan_fixture(SOURCE, "raw").cases
    assert _box(cases[LOCATED])[2] < 512 < _box(cases[PLAIN])[0]


def test_masks_lie_on_the_side_of_the_patient(scan_fixture):
    case = scan_fixture(SOURCE, "raw").cases[PLAIN]
    centres = {name: np.nonzero(mask)[1].mean() for name, mask in _masks(case).items()}
    assert centres["right lung"] + 200 < centres["left lung"]
    assert centres["right clavicle"] < 512 < centres["left clavicle"]


def test_mask_in_a_palette_counts_by_its_colours(edited_tree, scan_tree, scan_fixture):
    def repaint(root):
        for path in root.glob(f"SCR/fold1/masks/*/{PLAIN}.gif"):
            with Image.open(path) as picture:
                dark = np.asarray(picture.convert("L")) < 128
            image = Image.frombytes("P", (1024, 1024), dark.astype(np.uint8).tobytes())
            image.putpalette([250, 255, 255, 0, 0, 0])
            image.save(path)
            with Image.open(path) as picture:
                assert picture.mode == "P"

    repainted = _masks(scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", repaint)).cases[PLAIN])
    expected = _masks(scan_fixture(SOURCE, "raw").cases[PLAIN])
    assert all((repainted[name] == mask).all() for name, mask in expected.items())


def _masks(case):
    volume = _read(case)
    return {
        region.value: rasterise(region.shape, volume)[0]
        for region in case.regions
        if region.field == "structure"
    }


def test_fold_is_where_the_masks_lie_and_not_the_parity_of_the_number(edited_tree, scan_tree):
    def swap(root):
        shutil.move(root / "SCR/fold1", root / "SCR/fold3")
        shutil.move(root / "SCR/fold2", root / "SCR/fold1")
        shutil.move(root / "SCR/fold3", root / "SCR/fold2")

    cases = scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", swap)).cases
    assert (cases[PLAIN].split, cases[YOUNG].split) == ("fold2", "fold1")
    assert len([r for r in cases[PLAIN].regions if r.field == "structure"]) == 5


def test_masks_under_scratch_and_films_of_the_split_archives_are_found(edited_tree, scan_tree):
    def move(root):
        (root / "scratch").mkdir()
        shutil.move(root / "SCR/fold1", root / "scratch/fold1")
        for kind, folder in (("LN", "Nodule154images"), ("NN", "NonNodule93images")):
            (root / folder).mkdir()
            for path in sorted(root.glob(f"All247images/JPC{kind}*")):
                shutil.move(path, root / folder / path.name)

    root = edited_tree(SOURCE, "raw", move)
    assert inspect_copy(CARD, root).fits
    assert scan_tree(SOURCE, "raw", root).cases[PLAIN].split == "fold1"


def test_letter_case_of_names_does_not_matter(edited_tree, scan_tree, scan_fixture):
    def lower(root):
        for path in sorted((root / "All247images").iterdir()):
            path.rename(path.with_name(path.name.lower()))

    scan = scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", lower))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "raw").cases)


@pytest.mark.thorough
def test_nodule_close_to_invisible_is_neither_asked_nor_denied(scan_fixture, build_fixture):
    assert scan_fixture(SOURCE, "raw").states(FAINT, "nodule") == {"nodule": LabelState.UNKNOWN}
    assert build_fixture(SOURCE, "raw").tasks_of(FAINT).isdisjoint({FINDINGS, PLACES})


def test_nodule_of_middling_subtlety_is_asked_for_its_place_alone(build_fixture):
    tasks = build_fixture(SOURCE, "raw").tasks_of(LOCATED)
    assert PLACES in tasks
    assert FINDINGS not in tasks


def test_plain_nodule_is_asked_against_a_film_without_one_and_nothing_else(build_fixture):
    build = build_fixture(SOURCE, "raw")
    assert build.right_of(PLAIN, FINDINGS) == build.wrong_of(ADULT, FINDINGS) == {"Nodule"}
    assert build.right_of(ADULT, FINDINGS) == build.wrong_of(PLAIN, FINDINGS) == {"no lung nodule"}


def test_small_nodule_is_not_asked_for_its_place(edited_tree, scan_tree, replacing):
    edit = replacing(NODULES, "JPCLN001.IMG\t5\t30", "JPCLN001.IMG\t5\t9")
    case = scan_tree(SOURCE, "raw", edited_tree(SOURCE, "raw", edit)).cases[PLAIN]
    assert all(region.field == "structure" for region in case.regions)


def test_film_of_a_child_is_not_called_free_of_nodules(scan_fixture, build_fixture):
    assert scan_fixture(SOURCE, "raw").states(YOUNG, "nodule") == {}
    assert FINDINGS not in build_fixture(SOURCE, "raw").tasks_of(YOUNG)


@pytest.mark.parametrize("key", ["JPCLN005", "JPCLN012", "JPCLN042", "JPCLN084"])
def test_mark_wider_than_30_mm_is_not_diagnosed_as_a_nodule(key):
    assert quirk_of(CARD, key, "undiagnosed")


def test_subtlety_is_no_severity_and_pathology_is_no_disease(build_fixture):
    for layout in ("raw", "kaggle"):
        tasks = {item.task for item in build_fixture(SOURCE, layout).items}
        assert tasks.isdisjoint({"Severity Grading", "Disease Diagnosis"})
    values = {value for field in CARD.fields.values() for value in field.values}
    assert values.isdisjoint({"malignant", "benign"})


def test_table_of_the_copy_writes_whole_numbers_as_fractions(edited_tree, scan_tree, replacing):
    edit = replacing("jsrt_metadata.csv", ",5,30,53,male", ",5.0,30.0,53.0,Male")
    cases = scan_tree(SOURCE, "kaggle", edited_tree(SOURCE, "kaggle", edit)).cases
    assert dict(cases[PLAIN].facts)["age"] == "53"
    assert _box(cases[PLAIN])


def test_stored_frame_is_read_as_it_is_declared(scan_fixture):
    volume = readers.read(scan_fixture(SOURCE, "raw").cases[PLAIN].images[0])
    assert volume.slices.shape == (1, 2048, 2048)
    assert volume.spacing == pytest.approx((1.0, 0.175, 0.175))
