"""Traps of the evidence card `covid19-radiography`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.facts import LabelState, Scope
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import picture, write_picture
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet
from medrcube.sources.registry import find_sources

UNTESTED = {
    "crops-of-figures-with-arrows": "no list of files; noted as a quirk",
    "near-duplicates-inside-the-set": "unmarked; nobody knows whose films these are",
    "small-films-show-no-fine-detail": "299 pixels; only whole-film labels are asked, see quirk",
    "children-in-one-class": "a bias of the collection; classes are rivals within one collection",
    "share-of-this-source": "advice for the choice of a batch",
}
SOURCE, LAYOUT = "covid19-radiography", "with-masks"
CARD = find_sources()[SOURCE].card
TOP = "COVID-19_Radiography_Dataset/COVID-19_Radiography_Dataset"
FINDINGS, DISEASES = "Abnormality Diagnosis", "Disease Diagnosis"
RSNA, KERMANY = "Normal-1", "Normal-3"


def _field(scan, key):
    return {label.field for label in scan.cases[key].labels}


def test_classes_are_rivals_only_within_one_collection(scan_fixture, build_fixture):
    scan, build = scan_fixture(SOURCE, LAYOUT), build_fixture(SOURCE, LAYOUT)
    assert _field(scan, RSNA) == _field(scan, "Lung_Opacity-1") == {"film"}
    assert _field(scan, KERMANY) == _field(scan, "Viral Pneumonia-1") == {"pneumonia"}
    assert build.wrong_of(RSNA, FINDINGS) == {"Lung Opacity"}
    assert build.wrong_of(KERMANY, DISEASES) == {"viral pneumonia"}
    assert DISEASES not in build.tasks_of(RSNA)
    assert FINDINGS not in build.tasks_of(KERMANY)


def test_result_of_a_swab_is_not_asked_of_a_film(build_fixture, scan_fixture):
    scan, build = scan_fixture(SOURCE, LAYOUT), build_fixture(SOURCE, LAYOUT)
    assert scan.states("COVID-1", "infection") == {"COVID": LabelState.PRESENT}
    assert build.tasks_of("COVID-1") == {"Modality Recognition"}
    assert CARD.fields["infection"].scope is Scope.PATIENT


def test_covid_is_an_option_of_no_question(build_fixture):
    concepts = {o.concept for item in build_fixture(SOURCE, LAYOUT).items for o in item.options}
    assert "COVID-19 pneumonia" not in concepts


def test_lung_opacity_is_not_called_pneumonia(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of("Lung_Opacity-1", FINDINGS) == {"Lung Opacity"}
    assert DISEASES not in build.tasks_of("Lung_Opacity-1")


def test_names_in_capitals_in_one_table_are_found(scan_fixture):
    assert {key for key in scan_fixture(SOURCE, LAYOUT).cases if key.startswith("Normal")} == {
        "Normal-1",
        "Normal-2",
        "Normal-3",
        "Normal-4",
    }


def test_film_without_a_row_is_set_aside(scan_fixture):
    assert "has a row for it" in scan_fixture(SOURCE, LAYOUT).skips["Lung_Opacity-3"]


def test_films_from_another_collection_are_set_aside(edited_tree, scan_tree):
    def edit(root):
        rows = [["FILE NAME", "FORMAT", "SIZE", "URL"]]
        rows += [[f"NORMAL-{n}", "PNG", "256*256", "https://example.org"] for n in range(1, 5)]
        write_spreadsheet(root / TOP / "Normal.metadata.xlsx", {"Sheet1": rows})

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("assumes (unverified)") == {f"Normal-{n}" for n in range(1, 5)}


def test_masks_of_the_same_name_are_no_films(scan_fixture, build_fixture):
    assert len(scan_fixture(SOURCE, LAYOUT).entries) == 11
    codes = build_fixture(SOURCE, LAYOUT).codes()
    assert codes[f"{TOP}/COVID/masks/COVID-1.png"] == "ignored-by-card"


def test_mask_drawn_by_a_machine_is_not_grounded(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert tasks.isdisjoint({"ROI Grounding", "Organ Recognition"})


def test_top_folder_once_or_twice_gives_the_same(edited_tree, scan_tree, scan_fixture):
    def flatten(root):
        for path in sorted((root / TOP).iterdir()):
            shutil.move(path, root / path.name)
        shutil.rmtree(root / "COVID-19_Radiography_Dataset")

    root = edited_tree(SOURCE, LAYOUT, flatten)
    assert inspect_copy(CARD, root).fits
    assert list(scan_tree(SOURCE, LAYOUT, root).cases) == list(scan_fixture(SOURCE, LAYOUT).cases)


def test_underscore_in_place_of_the_blank_is_the_same_class(edited_tree, scan_tree):
    def respell(root):
        old = root / TOP / "Viral Pneumonia"
        for path in sorted(old.glob("*/*.png")):
            path.rename(path.with_name(path.name.replace(" ", "_")))
        old.rename(root / TOP / "Viral_Pneumonia")
        rows = [["FILE NAME", "FORMAT", "SIZE", "URL"]]
        address = "https://www.kaggle.com/paultimothymooney/chest-xray-pneumonia"
        rows += [[f"Viral_Pneumonia-{n}", "PNG", "256*256", address] for n in (1, 2)]
        write_spreadsheet(root / TOP / "Viral_Pneumonia.metadata.xlsx", {"Sheet1": rows})

    root = edited_tree(SOURCE, LAYOUT, respell)
    assert inspect_copy(CARD, root).fits
    states = scan_tree(SOURCE, LAYOUT, root).states("Viral_Pneumonia-1", "pneumonia")
    assert states == {"Viral Pneumonia": LabelState.PRESENT}


def test_numbers_sort_as_numbers(edited_tree, scan_tree):
    def add(root):
        for number in range(5, 11):
            shutil.copy(
                root / TOP / "COVID/images/COVID-1.png",
                root / TOP / f"COVID/images/COVID-{number}.png",
            )

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, add))
    keys = [entry.key for entry in scan.entries if entry.key.startswith("COVID")]
    assert keys == [f"COVID-{number}" for number in (1, 2, 5, 6, 7, 8, 9, 10)]


@pytest.mark.parametrize("folder", ["COVID", "COVID/images"])
def test_editions_before_the_masks_are_refused(tmp_path, folder):
    for name in (f"{folder}/COVID (1).png", "NORMAL/NORMAL (1).png"):
        write_picture(tmp_path / "COVID-19 Radiography Database" / name, picture(60, 60, seed=1))
    assert not inspect_copy(CARD, tmp_path).fits


def test_grey_film_in_three_channels_becomes_grey(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    path = scan_fixture(SOURCE, LAYOUT).cases["COVID-2"].images[0].paths[0]
    with Image.open(path) as film:
        assert film.mode == "RGB"
        expected = np.asarray(film)[..., 0]
    assert np.array_equal(build.pixels(build.sample("COVID-2")), expected)


def test_size_is_that_of_the_file_and_not_of_the_table(build_fixture):
    sample = build_fixture(SOURCE, LAYOUT).sample(RSNA)
    assert (sample.width, sample.height) == (299, 299)


def test_collection_of_a_film_is_kept(scan_fixture):
    facts = dict(scan_fixture(SOURCE, LAYOUT).cases["COVID-1"].facts)
    assert "sirm.org" in facts["provenance"]


def test_nobody_knows_whose_films_these_are(scan_fixture):
    assert {case.patient for case in scan_fixture(SOURCE, LAYOUT).cases.values()} == {None}


def test_sources_with_the_same_films_are_named():
    names = {overlap.source for overlap in CARD.overlaps}
    assert {"rsna-pneumonia", "nih-chestxray14", "covid-chestxray"} < names
    assert any("Kermany" in name for name in names)
    assert not CARD.access.redistribute
