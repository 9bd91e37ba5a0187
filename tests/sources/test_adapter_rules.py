"""Rules that single adapters follow beyond the contract, on their own fixtures."""

import shutil

import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import ReadError
from medrcube.facts import Case, LabelState, Skip
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.thorough  # like the traps of a source

SOURCES = find_sources()


@pytest.fixture
def tree(tmp_path):
    def build(source, layout):
        root = tmp_path / layout
        SOURCES[source].build_fixture(root, layout)
        return root

    return build


def _cases(source, layout, root):
    return [entry for entry in SOURCES[source].scan(root, layout) if isinstance(entry, Case)]


def test_relative_runs_down_the_columns_lie_on_the_dark_part_of_the_film(tree):
    root = tree("siim-acr-pneumothorax", "stage-2")
    regions = 0
    for case in _cases("siim-acr-pneumothorax", "stage-2", root):
        film = readers.read(case.images[0])
        for region in case.regions:
            marked = rasterise(region.shape, film)
            assert np.median(film.slices[0][marked[0]]) < 40 < np.median(film.slices[0])
            regions += 1
    assert regions == 3


def test_the_middle_of_the_longest_run_with_one_type_stands_for_a_patient(tree):
    root = tree("rsna-ich", "stage-2")
    slices = {}
    for case in _cases("rsna-ich", "stage-2", root):
        present = {label.value for label in case.labels if label.state is LabelState.PRESENT}
        height = readers.read(case.images[0]).affine[2, 3]
        slices[case.patient[-1]] = (round(height / 5), present)
    assert slices == {
        "0": (2, {"subdural", "any"}),
        "1": (2, {"epidural", "any"}),
        "2": (4, {"intraventricular", "any"}),
        "3": (2, {"subarachnoid", "any"}),
        "4": (2, {"intraparenchymal", "any"}),
        "5": (1, {"none"}),
        "6": (2, {"none"}),
    }


def test_rows_of_one_image_that_contradict_each_other_set_it_aside(tree):
    root = tree("rsna-ich", "stage-2")
    table = next(root.rglob("stage_2_train.csv"))
    first = table.read_text().splitlines()[1]
    with table.open("a") as file:
        file.write(first[:-1] + "1\n")
    (skip,) = (
        entry
        for entry in SOURCES["rsna-ich"].scan(root, "stage-2")
        if isinstance(entry, Skip) and entry.code == "bad-row"
    )
    assert first.startswith(skip.key)
    assert "another row of" in skip.reason


def test_a_lung_mask_at_the_other_side_of_the_picture_is_refused(tree):
    root = tree("montgomery-tb", "nlm")
    masks = root / "MontgomerySet" / "ManualMask"
    case = _cases("montgomery-tb", "nlm", root)[0]
    film = readers.read(case.images[0])
    assert SOURCES["montgomery-tb"].hook("frames")(case, film) == [0]
    shutil.move(masks / "leftMask", masks / "other")
    shutil.move(masks / "rightMask", masks / "leftMask")
    shutil.move(masks / "other", masks / "rightMask")
    with pytest.raises(ReadError, match="lies at the right side") as excinfo:
        SOURCES["montgomery-tb"].hook("frames")(case, film)
    assert excinfo.value.code == "lung-side"


def test_two_films_of_one_person_share_the_patient(tree):
    root = tree("montgomery-tb", "nlm")
    patients = {case.key: case.patient for case in _cases("montgomery-tb", "nlm", root)}
    assert patients["MCUCXR_0170_1"] == patients["MCUCXR_0162_1"] == "0162"
    assert len(set(patients.values())) == len(patients) - 1


@pytest.mark.parametrize(
    ("film", "states"),
    [
        ("CHNCXR_0001_0", [LabelState.PRESENT]),
        ("CHNCXR_0003_0", []),  # 64 days old
        ("CHNCXR_0004_0", [LabelState.UNKNOWN]),  # the reading names a disease
        ("CHNCXR_0328_1", [LabelState.PRESENT]),
        ("CHNCXR_0329_1", []),  # 16 months old
    ],
)
def test_readings_confirm_the_label_in_the_name_for_adults_only(tree, film, states):
    root = tree("shenzhen-tb", "nlm")
    cases = {case.key: case for case in _cases("shenzhen-tb", "nlm", root)}
    assert [label.state for label in cases[film].labels] == states


def test_films_are_rivals_only_within_the_collection_that_they_come_from(tree):
    root = tree("covid19-radiography", "with-masks")
    fields = {
        case.key: case.labels[0].field for case in _cases("covid19-radiography", "with-masks", root)
    }
    assert (fields["Normal-1"], fields["Normal-3"]) == ("film", "pneumonia")
    assert (fields["Lung_Opacity-1"], fields["Viral Pneumonia-1"]) == ("film", "pneumonia")


def test_boxes_of_a_film_follow_its_class_table_without_multiplying(tree):
    root = tree("rsna-pneumonia", "kaggle")
    cases = _cases("rsna-pneumonia", "kaggle", root)
    assert [len(case.regions) for case in cases] == [0, 0, 0, 2, 1]
    first, second, third = sorted({case.patient for case in cases})
    assert [case.patient for case in cases] == [first, first, second, second, third]
    assert dict(cases[2].facts) == {"sex": "F"}  # 155 years is no age


def test_a_film_that_annotators_excluded_is_set_aside(tree):
    root = tree("rsna-pneumonia", "mdai")
    entries = list(SOURCES["rsna-pneumonia"].scan(root, "mdai"))
    (reason,) = (entry.reason for entry in entries if isinstance(entry, Skip))
    assert reason.startswith("its annotations name ['Exclude', 'No Lung Opacity / Not Normal']")
