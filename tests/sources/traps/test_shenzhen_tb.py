"""Traps of the evidence card `shenzhen-tb`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.facts import LabelState
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "normal-and-ill-films-of-different-streams": "a bias of the collection",
    "letters-burnt-in": "unverified, no list of films; advice to reviewers",
    "lung-masks-in-one-or-two-pieces": "the mask is asked as an organ, not as a place",
    "children-in-the-masked-copy": "that copy has no ages",
    "days-and-months-in-the-raddar-table": "its column may have lost the unit; unverified",
}
SOURCE, LAYOUT = "shenzhen-tb", "nlm"
CARD = find_sources()[SOURCE].card
READINGS = "ChinaSet_AllFiles/ChinaSet_AllFiles/ClinicalReadings"
NORMAL, WOMAN, DAYS, CONTRADICTED = (f"CHNCXR_000{n}_0" for n in range(1, 5))
ILL, COLOURED, MONTHS = (f"CHNCXR_032{n}_1" for n in (7, 8, 9))
DISEASES = "Disease Diagnosis"


def _write(key, text):
    def edit(root):
        (root / READINGS / f"{key}.txt").write_bytes(text.encode("latin-1"))

    return edit


def _after(edited_tree, scan_tree, edit):
    return scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("male 45yrs", {"sex": "M", "age": "45"}),
        ("male , 29yrs", {"sex": "M", "age": "29"}),
        ("femal 32yrs", {"sex": "F", "age": "32"}),
        ("female24yrs", {"sex": "F", "age": "24"}),
        ("Female, 28yrs", {"sex": "F", "age": "28"}),
        ("male 16month", {"sex": "M"}),
        ("female 64days", {"sex": "F"}),
        ("male 42", {"sex": "M"}),
        ("a line about nobody", {}),
    ],
)
def test_first_line_is_read_as_people_typed_it(edited_tree, scan_tree, line, facts):
    scan = _after(edited_tree, scan_tree, _write(NORMAL, f"{line}\t\r\nnormal\t\r\n"))
    assert dict(scan.cases[NORMAL].facts) == facts


@pytest.mark.parametrize("line", ["male 16month", "female 64days", "male 17yrs", "female 9"])
def test_film_of_a_child_is_not_diagnosed(edited_tree, scan_tree, line):
    scan = _after(edited_tree, scan_tree, _write(NORMAL, f"{line}\nnormal\n"))
    assert scan.states(NORMAL, "tuberculosis") == {}


def test_infants_of_the_fixture_are_pictures_without_a_disease(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for key in (DAYS, MONTHS):
        assert "Modality Recognition" in build.tasks_of(key)
        assert DISEASES not in build.tasks_of(key)


def test_child_in_a_table_without_units_is_not_diagnosed(edited_tree, scan_tree, replacing):
    edit = replacing("shenzhen_metadata.csv", f"{NORMAL}.png,Male,45", f"{NORMAL}.png,Male,4")
    scan = scan_tree(SOURCE, "raddar", edited_tree(SOURCE, "raddar", edit))
    assert scan.states(NORMAL, "tuberculosis") == {}


@pytest.mark.parametrize(("key", "text"), [(NORMAL, "STB"), (ILL, "normal")])
def test_reading_that_contradicts_the_name_makes_it_unknown(edited_tree, scan_tree, key, text):
    scan = _after(edited_tree, scan_tree, _write(key, f"male 45yrs\n{text}\n"))
    assert set(scan.states(key, "tuberculosis").values()) == {LabelState.UNKNOWN}


def test_contradicted_film_of_the_fixture_is_not_asked(build_fixture):
    assert DISEASES not in build_fixture(SOURCE, LAYOUT).tasks_of(CONTRADICTED)


def test_reading_in_latin_1_over_several_lines_is_read(edited_tree, scan_tree):
    text = "male , 29yrs\t\r\n1.ATB of the right upper field\r\n2.pleuritis \xb1\r\n"
    scan = _after(edited_tree, scan_tree, _write(ILL, text))
    assert scan.states(ILL, "tuberculosis") == {"1": LabelState.PRESENT}


def test_film_without_a_reading_is_set_aside(edited_tree, scan_tree):
    scan = _after(edited_tree, scan_tree, lambda root: (root / READINGS / f"{ILL}.txt").unlink())
    assert "cannot be confirmed" in scan.skips[ILL]


def test_film_without_a_lung_mask_is_no_error(scan_fixture, build_fixture):
    assert scan_fixture(SOURCE, LAYOUT).cases[WOMAN].regions == ()
    tasks = build_fixture(SOURCE, LAYOUT).tasks_of(WOMAN)
    assert tasks == {"Modality Recognition", DISEASES}


def test_folder_that_lies_twice_in_a_copy_gives_each_film_once(
    edited_tree, scan_tree, scan_fixture
):
    def twice(root):
        top = root / "ChinaSet_AllFiles"
        shutil.copytree(top / "ChinaSet_AllFiles/CXR_png", top / "CXR_png")

    scan = _after(edited_tree, scan_tree, twice)
    assert list(scan.cases) == list(scan_fixture(SOURCE, LAYOUT).cases)


def test_folder_that_lies_once_is_found_too(edited_tree, scan_tree, scan_fixture):
    def flatten(root):
        shutil.move(root / "ChinaSet_AllFiles/ChinaSet_AllFiles", root / "held")
        shutil.rmtree(root / "ChinaSet_AllFiles")
        shutil.move(root / "held", root / "ChinaSet_AllFiles")

    root = edited_tree(SOURCE, LAYOUT, flatten)
    assert inspect_copy(CARD, root).layout == LAYOUT
    assert list(scan_tree(SOURCE, LAYOUT, root).cases) == list(scan_fixture(SOURCE, LAYOUT).cases)


def test_hidden_thumbnails_are_no_film(edited_tree, survey):
    def add(root):
        (root / "ChinaSet_AllFiles/ChinaSet_AllFiles/CXR_png/Thumbs.db").write_bytes(b"\xd0\xcf")

    assert survey(SOURCE, edited_tree(SOURCE, LAYOUT, add)).problems == ()


def test_mask_is_no_film_with_or_without_its_ending(edited_tree, scan_tree, scan_fixture):
    def rename(root):
        for path in sorted((root / "Lung Segmentation/masks").glob("CHN*")):
            path.rename(path.with_name(path.name.replace("_mask", "")))

    scan = scan_tree(SOURCE, "masked", edited_tree(SOURCE, "masked", rename))
    expected = scan_fixture(SOURCE, "masked").cases
    assert list(scan.cases) == list(expected)
    assert scan.cases[NORMAL].images == _moved(expected[NORMAL], scan.cases[NORMAL])
    assert len(scan.cases[NORMAL].regions) == 1


def _moved(case, other):
    """Images of a case under the root of another one."""
    assert [i.paths[0].parent.name for i in case.images] == ["CXR_png"]
    return tuple(image for image in other.images if image.paths[0].parent.name == "CXR_png")


def test_films_of_montgomery_in_the_masked_copy_are_ignored_by_name(build_fixture):
    codes = build_fixture(SOURCE, "masked").codes()
    assert codes["Lung Segmentation/CXR_png/MCUCXR_0001_0.png"] == "ignored-by-card"


@pytest.mark.parametrize("name", [f"{ILL}_infiltrate.png", f"{ILL}.png"])
def test_outlines_of_2022_are_not_taken_for_films(edited_tree, survey, name):
    def add(root):
        folder = root / "ChinaSet_AllFiles/Annotations-2"
        folder.mkdir()
        shutil.copy(next(root.glob(f"**/CXR_png/{ILL}.png")), folder / name)

    contents = survey(SOURCE, edited_tree(SOURCE, LAYOUT, add))
    assert [problem.code for problem in contents.problems] == ["ignored-by-card"]
    assert {case.images[0].paths[0].parent.name for case in contents.cases} == {"CXR_png"}
    assert len(contents.cases) == 7


def test_grey_film_in_three_channels_becomes_grey(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.pixels(build.sample(COLOURED)).ndim == 2


def test_film_with_real_colour_is_refused(edited_tree, build_tree):
    def paint(root):
        path = next(root.glob(f"**/CXR_png/{NORMAL}.png"))
        with Image.open(path) as film:
            grey = np.asarray(film)
        Image.fromarray(np.stack([grey, grey // 2, grey // 3], axis=2)).save(path)

    assert NORMAL in build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, paint)).codes()


def test_view_of_which_the_paper_alone_speaks_is_not_asked(build_fixture):
    for layout in ("nlm", "raddar", "masked"):
        assert "View Recognition" not in {i.task for i in build_fixture(SOURCE, layout).items}


def test_number_in_the_name_is_the_person(scan_fixture):
    patients = [case.patient for case in scan_fixture(SOURCE, LAYOUT).cases.values()]
    assert patients == ["0001", "0002", "0003", "0004", "0327", "0328", "0329"]


def test_copies_of_these_films_are_named_and_nothing_may_be_passed_on():
    assert "tbx11k" in [overlap.source for overlap in CARD.overlaps]
    assert not CARD.access.redistribute
