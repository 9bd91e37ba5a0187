"""Traps of the evidence card `covid-ct`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.errors import SourceError
from medrcube.facts import Scope
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import picture, write_picture
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet
from medrcube.sources.registry import find_sources

UNTESTED = {
    "class-and-origin-go-together": "a bias of the collection, noted as a quirk",
    "letters-arrows-and-borders-burnt-in": "no list of files; advice to reviewers",
    "origin-of-each-crawled-picture": "unverified",
    "copies-in-other-collections": "known by name alone; the overlap is named (tested)",
    "code-column-of-the-csv": "unverified; it is not read",
    "labels-from-captions-not-pcr": "holds for the whole collection",
}
SOURCE = "covid-ct"
CARD = find_sources()[SOURCE].card
PERCENT = "CT_COVID/2020.02.10.20021584-p6-52%0.png"
IMAGES = "Images-processed"


def _replace(name, pixels):
    def edit(root):
        write_picture(root / IMAGES / name, pixels)

    return edit


def _sheet(*rows):
    def edit(root):
        heads = ["File name", "Patient ID", "Age", "Gender", "Severity"]
        write_spreadsheet(root / "COVID-CT-MetaInfo.xlsx", {"Sheet1": [heads, *rows]})

    return edit


def test_percent_sign_in_a_name_is_a_letter(scan_fixture):
    case = scan_fixture(SOURCE, "repository").cases[PERCENT]
    assert case.images[0].paths[0].name.endswith("%0.png")
    assert case.patient == "CT_COVID:Patient 2"
    assert "CT_NonCOVID/1%0.jpg" in scan_fixture(SOURCE, "repository").cases


def test_name_without_its_suffix_is_found_in_the_table(scan_fixture):
    """Every second row of the fixture lacks the suffix."""
    cases = scan_fixture(SOURCE, "repository").cases.values()
    assert all(case.patient for case in cases)


def test_name_with_more_dots_is_not_cut_at_the_first(scan_fixture):
    assert "CT_COVID/2020.01.24.919183-p27-132.png" in scan_fixture(SOURCE, "repository").cases


def test_same_patient_number_in_both_classes_is_two_people(edited_tree, scan_tree):
    def number(root):
        path = root / "NonCOVID-CT-MetaInfo.csv"
        path.write_bytes(path.read_bytes().replace(b"crawled_patient_0", b"Patient 2"))

    cases = scan_tree(SOURCE, "repository", edited_tree(SOURCE, "repository", number)).cases
    assert cases["CT_NonCOVID/0.jpg"].patient != cases[PERCENT].patient


@pytest.mark.parametrize(
    ("age", "sex", "facts"),
    [
        ("66", "F ", {"sex": "F", "age": "66"}),
        ("40+", "M", {"sex": "M"}),
        ("Young Child", None, {}),
        (None, "M ", {"sex": "M"}),
    ],
)
def test_age_and_sex_are_kept_only_when_clean(edited_tree, scan_tree, age, sex, facts):
    row = ["2020.02.10.20021584-p6-52%0", "Patient 2", age, sex, None]
    scan = scan_tree(SOURCE, "repository", edited_tree(SOURCE, "repository", _sheet(row)))
    assert dict(scan.cases[PERCENT].facts) == facts


def test_columns_without_a_name_do_not_move_the_others(scan_fixture, fixture_tree):
    table = fixture_tree(SOURCE, "repository") / "NonCOVID-CT-MetaInfo.csv"
    assert table.read_bytes().startswith(b",image name,patient id,\r\n")
    cases = scan_fixture(SOURCE, "repository").cases
    assert cases["CT_NonCOVID/2.png"].patient == "CT_NonCOVID:medpix_patient_1"


def test_folder_in_another_spelling_is_the_same_class(scan_fixture):
    case = scan_fixture(SOURCE, "kaggle").cases["CT_NonCOVID/2.png"]
    assert case.images[0].paths[0].parent.name == "CT_nonCOVID"


def test_converted_copy_beside_its_original_is_set_aside(scan_fixture):
    scan = scan_fixture(SOURCE, "kaggle")
    assert "converted copy" in scan.skips["CT_NonCOVID/0.png"]
    assert "CT_NonCOVID/0.jpg" in scan.cases


def test_png_that_the_table_lists_is_no_copy_of_a_jpg(edited_tree, scan_tree):
    def twin(root):
        folder = root / IMAGES / "CT_NonCOVID"
        write_picture(folder / "2.jpg", picture(220, 260, seed=77))

    cases = scan_tree(SOURCE, "repository", edited_tree(SOURCE, "repository", twin)).cases
    assert {"CT_NonCOVID/2.jpg", "CT_NonCOVID/2.png"} <= cases.keys()


def test_stray_metadata_of_macos_is_no_picture(edited_tree, scan_tree):
    def twin(root):
        (root / IMAGES / "CT_COVID/._kjr-21-e24-p1-13.png").write_bytes(b"\0\5\x16\7")

    cases = scan_tree(SOURCE, "repository", edited_tree(SOURCE, "repository", twin)).cases
    assert "CT_COVID/._kjr-21-e24-p1-13.png" not in cases


def test_zips_that_were_not_unpacked_fit_no_layout(edited_tree):
    def pack(root):
        for name in ("CT_COVID", "CT_NonCOVID"):
            shutil.make_archive(str(root / IMAGES / name), "zip", root / IMAGES / name)
            shutil.rmtree(root / IMAGES / name)

    assert not inspect_copy(CARD, edited_tree(SOURCE, "repository", pack)).fits


def test_old_tree_with_derived_tables_is_refused_by_their_columns(edited_tree, scan_tree):
    def age(root):
        (root / "Data-split").rename(root / "Data_split")
        (root / "COVID-CT-MetaInfo.xlsx").unlink()
        (root / "COVID-CT-MetaInfo.csv").write_text("image,patient,age\n1.png,1,40\n")

    with pytest.raises(SourceError, match="column 'File name' is missing"):
        scan_tree(SOURCE, "kaggle", edited_tree(SOURCE, "repository", age))


def test_split_is_that_of_the_lists(scan_fixture):
    cases = scan_fixture(SOURCE, "repository").cases
    assert [cases[key].split for key in (PERCENT, "CT_NonCOVID/0.jpg", "CT_NonCOVID/2.png")] == [
        "val",
        "train",
        "test",
    ]


def test_copy_without_lists_knows_no_split(scan_fixture):
    assert {case.split for case in scan_fixture(SOURCE, "kaggle").cases.values()} == {None}


def test_numbers_sort_as_numbers(scan_fixture):
    keys = list(scan_fixture(SOURCE, "repository").cases)
    assert keys.index("CT_NonCOVID/2.png") < keys.index("CT_NonCOVID/10.png")


def test_other_class_is_neither_normal_nor_a_disease(scan_fixture):
    case = scan_fixture(SOURCE, "repository").cases["CT_NonCOVID/0.jpg"]
    assert [concept_of(CARD, label) for label in case.labels] == ["not COVID-19"]


def test_class_of_a_patient_is_not_asked_of_one_slice(build_fixture):
    build = build_fixture(SOURCE, "repository")
    assert {item.task for item in build.items} == {"Modality Recognition"}


def test_severity_of_a_patient_stays_out_of_the_facts(edited_tree, scan_tree):
    row = ["2020.02.10.20021584-p6-52%0", "Patient 2", "66", "F", "severe"]
    scan = scan_tree(SOURCE, "repository", edited_tree(SOURCE, "repository", _sheet(row)))
    assert "severe" not in str(scan.cases[PERCENT])
    assert CARD.shows is Scope.IMAGE


def test_transparent_pixels_are_black(edited_tree, build_tree):
    pixels = np.stack([picture(220, 260, seed=1)] * 3 + [np.full((220, 260), 255)], axis=-1)
    pixels[:, -30:] = (255, 255, 255, 0)
    root = edited_tree(SOURCE, "repository", _replace(PERCENT, pixels.astype(np.uint8)))
    build = build_tree(SOURCE, root)
    grey = build.pixels(build.sample(PERCENT))
    assert grey[:, -30:].max() == 0
    assert grey[20:30, 20:40].min() > 200


def test_coloured_arrows_of_a_paper_become_grey(edited_tree, build_tree):
    pixels = np.stack([picture(220, 260, seed=1)] * 3, axis=-1).astype(np.uint8)
    pixels[100:104, 50:120] = (255, 0, 0)
    build = build_tree(SOURCE, edited_tree(SOURCE, "repository", _replace(PERCENT, pixels)))
    assert build.pixels(build.sample(PERCENT)).ndim == 2


def test_both_classes_come_in_one_format(build_fixture):
    build = build_fixture(SOURCE, "repository")
    modes = set()
    for sample in build.samples:
        with Image.open(build.root / sample.image) as image:
            modes.add((image.format, image.mode))
    assert modes == {("PNG", "L")}


@pytest.mark.parametrize("size", [(199, 260), (260, 199), (220, 551), (551, 220)])
def test_small_picture_and_several_panels_are_refused(edited_tree, build_tree, size):
    root = edited_tree(
        SOURCE, "repository", _replace(PERCENT, picture(*size, seed=1).astype(np.uint8))
    )
    build = build_tree(SOURCE, root)
    assert build.codes()[PERCENT] == "odd-size"
    assert set(build.quarantine[build.quarantine["code"] == "odd-size"]["stage"]) == {"select"}


@pytest.mark.parametrize("size", [(200, 260), (200, 500)])
def test_picture_at_the_limit_is_shown(edited_tree, build_tree, size):
    root = edited_tree(
        SOURCE, "repository", _replace(PERCENT, picture(*size, seed=1).astype(np.uint8))
    )
    assert build_tree(SOURCE, root).sample(PERCENT)


def test_pictures_of_publishers_are_not_passed_on():
    assert CARD.access.redistribute is False


def test_collections_that_took_pictures_over_are_named():
    assert "Kaggle" in CARD.overlaps[0].source
