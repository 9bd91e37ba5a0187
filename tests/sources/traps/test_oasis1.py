"""Traps of the evidence card `oasis1`."""

import shutil

import nibabel
import numpy as np
import pytest

from medrcube.fact_kind import FactKind
from medrcube.sources._formats.tables.spreadsheets import read_cells
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet
from medrcube.sources.oasis1.fixture import HEADER, ROWS, TABLE
from medrcube.sources.registry import find_sources

UNTESTED = {
    "grade-and-diagnosis": "neither is a field; noted as a quirk",
    "persons-of-oasis-2": "unverified; its volumes are refused by name",
    "tissue-maps": "made by a program, so they mark nothing; ignored by the card",
    "sizes-of-real-volumes": "stated by the fact sheet; a volume of another size is refused",
}
SOURCE, LAYOUT = "oasis1", "discs"
CARD = find_sources()[SOURCE].card
KEY = "OAS1_0001_MR1"


def _header(root, session=KEY):
    (path,) = root.rglob(f"{session}_*_t88_masked_gfc.hdr")
    return path


def _read_slices(path):
    image = nibabel.AnalyzeImage.from_filename(str(path))
    return np.asarray(image.dataobj).copy()


def _store(path, voxels):
    path.with_suffix(".img").write_bytes(voxels.astype(">i2").tobytes(order="F"))


def _rewrite(rows, header=HEADER):
    return lambda root: write_spreadsheet(root / TABLE, {"Sheet1": (header, *rows)})


@pytest.fixture
def build(build_fixture):
    return build_fixture(SOURCE, LAYOUT)


TURNED = {"OAS1_0001_MR1": (1,), "OAS1_0002_MR1": (2,), "OAS1_0003_MR1": (1, 2)}


def test_volume_is_shown_upright_whichever_way_it_is_stored(edited_tree, build_tree, build):
    def turn(root):
        for session, axes in TURNED.items():
            path = _header(root, session)
            _store(path, np.flip(_read_slices(path), axes))

    turned = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, turn))
    for key in (f"{session}-{plane}" for session in TURNED for plane in ("axial", "sagittal")):
        before, after = (entry.pixels(entry.sample(key)).astype(float) for entry in (build, turned))
        assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.95


def test_forehead_is_up_on_axial_images_and_left_on_sagittal_ones(build):
    axial, sagittal = (
        build.pixels(build.sample(f"{KEY}-{plane}")) > 0 for plane in ("axial", "sagittal")
    )
    assert axial.any()
    rows, columns = sagittal.shape
    below_forehead = sagittal[rows // 2 :, : columns // 2]
    assert below_forehead.mean() < sagittal[rows // 2 :, columns // 2 :].mean() / 2


@pytest.fixture
def refused(edited_tree, build_tree):
    """What becomes of a ball, of axes in another order, of a small volume, of a lone header."""

    def spoil(root):
        places = np.indices((88, 104, 88)) - np.array([44, 52, 44])[:, None, None, None]
        ball = (places**2 / np.array([30, 40, 36])[:, None, None, None] ** 2).sum(axis=0) < 1
        _store(_header(root, "OAS1_0001_MR1"), 1000 * ball)
        path = _header(root, "OAS1_0002_MR1")
        _store(path, _read_slices(path).transpose(2, 1, 0))
        path = _header(root, "OAS1_0003_MR1")
        header = nibabel.AnalyzeHeader(path.read_bytes())
        header.set_zooms((1.0, 1.0, 1.0))
        path.write_bytes(header.binaryblock)
        _header(root, "OAS1_0004_MR1").with_suffix(".img").unlink()

    return build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, spoil))


def test_volume_whose_directions_are_not_certain_is_refused(refused):
    codes = refused.codes()
    assert codes["OAS1_0001_MR1-axial"] == "wrong-directions"
    assert codes["OAS1_0002_MR1-axial"] == "wrong-directions"
    assert codes["OAS1_0003_MR1-axial"] == "not-in-atlas"
    assert refused.samples == []


def test_no_side_of_the_patient_is_known():
    assert CARD.geometry.orientation == "unknown"


def test_retest_is_no_case_of_its_own(scan_fixture):
    assert not [key for key in scan_fixture(SOURCE, LAYOUT).cases if "MR2" in key]


@pytest.mark.parametrize("session", ["OAS1_0003_MR1", "OAS1_0004_MR1"])
def test_volume_is_found_whatever_the_number_of_scans_averaged(scan_fixture, session):
    assert f"{session}-coronal" in scan_fixture(SOURCE, LAYOUT).cases


def test_map_of_tissues_beside_the_brain_is_not_taken_for_it(fixture_tree, scan_fixture):
    assert list(fixture_tree(SOURCE, LAYOUT).rglob("*_t88_masked_gfc_fseg.hdr"))
    files = {f.name for c in scan_fixture(SOURCE, LAYOUT).cases.values() for f in c.files()}
    assert not [name for name in files if "fseg" in name]


def test_volume_that_lies_in_two_folders_is_read_once(edited_tree, scan_tree):
    def copy(root):
        shutil.copytree(root / f"disc1/{KEY}", root / f"disc7/{KEY}")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, copy))
    assert len(scan.cases) == 12
    assert list(scan.skips.values()) == ["another copy of a volume"]


def test_table_with_a_one_for_each_m_is_told(edited_tree, scan_tree):
    rows = [(row[0].replace("M", "1"), "0" if row[1] == "F" else "1", *row[2:]) for row in ROWS]
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _rewrite(rows)))
    assert len(scan.bad_rows("a 1 for each M")) == len(ROWS)
    assert {case.facts for case in scan.cases.values()} == {()}


def test_neither_dementia_nor_its_grade_is_asked(build):
    kinds = {field.kind for field in CARD.fields.values()}
    assert kinds == {FactKind("structure"), FactKind("view"), FactKind("protocol")}
    tasks = {item.task for item in build.items}
    assert tasks.isdisjoint({"Abnormality Diagnosis", "Disease Diagnosis", "Severity Grading"})


def test_only_age_and_sex_of_the_table_are_kept(fixture_tree, scan_fixture):
    assert "CDR" in read_cells(fixture_tree(SOURCE, LAYOUT) / TABLE)[0]
    for case in scan_fixture(SOURCE, LAYOUT).cases.values():
        assert {name for name, _ in case.facts} == {"sex", "age"}


@pytest.mark.parametrize(
    "name",
    [
        "OAS2_0001_MR1/RAW/mpr-1.hdr",
        "OAS1_0001_MR1_mpr_n4_anon_111_t88_masked_gfc.nii.gz",
        "Data/Non Demented/OAS1_0001_MR1_mpr-1_100.jpg",
    ],
    ids=["second", "nifti", "jpeg"],
)
def test_other_edition_fits_no_layout(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits
