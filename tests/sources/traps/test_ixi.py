"""Traps of the evidence card `ixi`."""

import shutil

import nibabel
import numpy as np
import pytest

from medrcube.fact_kind import FactKind
from medrcube.sources._formats.tables.spreadsheets import read_cells
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "t2-and-pd-are-one-acquisition": "hard pairs are for a clinician; noted as a quirk",
    "faces-are-not-removed": "a property of the data, noted as a quirk",
    "geometry-of-t2-pd-and-mra": "unverified; a file without an affine is refused",
}
SOURCE = "ixi"
CARD = find_sources()[SOURCE].card
LAYOUTS = [layout.name for layout in CARD.layouts]
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
GUYS, HAMMERSMITH, PSYCHIATRY = "IXI002-Guys-0828", "IXI012-HH-1211", "IXI219-IOP-0998"


def _facts(scan, subject):
    return {case.facts for key, case in scan.cases.items() if key.startswith(subject)}


@each_layout
def test_volumes_are_found_by_name_in_whatever_folder(edited_tree, scan_tree, scan_fixture, layout):
    def rename(root):
        (root / "IXI-T1").rename(root / "T1")
        (root / "spilled").mkdir()
        for path in (root / "IXI-T2").iterdir():
            shutil.move(path, root / path.name)

    scan = scan_tree(SOURCE, layout, edited_tree(SOURCE, layout, rename))
    assert set(scan.cases) == set(scan_fixture(SOURCE, layout).cases)


@each_layout
def test_volume_that_lies_in_two_folders_is_read_once(edited_tree, scan_tree, layout):
    root = edited_tree(SOURCE, layout, lambda r: shutil.copytree(r / "IXI-T1", r / "copy"))
    scan = scan_tree(SOURCE, layout, root)
    assert len(scan.cases) == 16
    assert list(scan.skips.values()) == ["another copy of a volume"] * 3


@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal"])
def test_t1_that_is_stored_lying_on_its_side_is_shown_upright(scan_fixture, build_fixture, plane):
    """Axes grow to posterior, superior and right."""
    key = f"{GUYS}-T1-{plane}"
    nifti = nibabel.load(scan_fixture(SOURCE, "archives").cases[key].images[0].paths[0])
    assert nibabel.aff2axcodes(nifti.affine) == ("P", "S", "R")
    head = np.asarray(nibabel.as_closest_canonical(nifti).dataobj)
    build = build_fixture(SOURCE, "archives")
    sample = build.sample(key)
    k = int(sample.frames)
    expected = {
        "axial": lambda: head[::-1, ::-1, k].T,
        "coronal": lambda: head[::-1, head.shape[1] - 1 - k, ::-1].T,
        "sagittal": lambda: head[head.shape[0] - 1 - k, ::-1, ::-1].T,
    }[plane]()
    pixels = build.pixels(sample).astype(float)
    rows, columns = (
        np.linspace(0, n - 1, m).round().astype(int)
        for n, m in zip(expected.shape, pixels.shape, strict=True)
    )
    assert np.corrcoef(pixels.ravel(), expected[np.ix_(rows, columns)].ravel())[0, 1] > 0.95


def test_voxels_that_are_no_cubes_give_square_pixels(build_fixture, scan_fixture):
    key = f"{GUYS}-T1-axial"
    nifti = nibabel.load(scan_fixture(SOURCE, "archives").cases[key].images[0].paths[0])
    depth, _, width = (n * s for n, s in zip(nifti.shape, nifti.header.get_zooms(), strict=True))
    sample = build_fixture(SOURCE, "archives").sample(key)
    assert sample.width / sample.height == pytest.approx(width / depth, rel=0.02)


def test_axial_t1_lies_above_the_middle_because_the_neck_is_in_view(build_fixture):
    build = build_fixture(SOURCE, "archives")
    assert int(build.sample(f"{GUYS}-T1-axial").frames) == int(72 * 0.58)
    assert int(build.sample(f"{GUYS}-T2-axial").frames) == 36


def test_file_that_does_not_say_where_it_points_is_refused(edited_tree, build_tree):
    def forget(root):
        path = root / f"IXI-T2/{GUYS}-T2.nii.gz"
        nifti = nibabel.load(path)
        image = nibabel.Nifti1Image(np.asarray(nifti.dataobj), None)
        image.header["qform_code"] = image.header["sform_code"] = 0
        nibabel.save(image, path)

    codes = build_tree(SOURCE, edited_tree(SOURCE, "archives", forget)).codes()
    assert codes[f"{GUYS}-T2-axial"] == "no-orientation"


@pytest.mark.parametrize(
    ("kind", "concept"), [("T1", "T1"), ("T2", "T2"), ("PD", "PD"), ("MRA", "MRA")]
)
def test_sequence_is_the_end_of_the_name(build_fixture, kind, concept):
    build = build_fixture(SOURCE, "archives")
    right = build.right_of(f"{GUYS}-{kind}-axial", "Imaging Protocols Recognition")
    assert right == {concept}


def test_angiography_is_shown_as_a_source_slice_and_the_card_says_so(build_fixture):
    assert build_fixture(SOURCE, "archives").sample(f"{GUYS}-MRA-axial").frames == "36"
    assert any("source slices of the slab, not projections" in q.reason for q in CARD.quirks)


@each_layout
def test_direction_of_a_diffusion_series_is_no_picture(survey, fixture_tree, layout):
    contents = survey(SOURCE, fixture_tree(SOURCE, layout))
    codes = {
        p.case: p.code for p in contents.problems if "DTI" in p.case and p.code != "other-file"
    }
    assert list(codes.values()) == ["ignored-by-card"]


def test_number_of_the_table_is_padded_to_the_subject(scan_fixture):
    scan = scan_fixture(SOURCE, "archives")
    assert _facts(scan, "IXI002") == {
        (("site", "Guys"), ("tesla", "1.5"), ("sex", "female"), ("age", "35.800137"))
    }


def test_second_row_of_a_subject_that_is_mostly_zeros_does_not_replace_the_first(
    fixture_tree, scan_fixture
):
    rows = read_cells(fixture_tree(SOURCE, "archives") / "IXI.xls", sheet="Table")
    assert [row[0] for row in rows].count("2") == 2
    facts = {
        name for fact in _facts(scan_fixture(SOURCE, "archives"), "IXI002") for name, _ in fact
    }
    assert "age" in facts


@pytest.mark.parametrize("subject", ["IXI219", "IXI328"])
def test_subject_whose_rows_disagree_has_neither_age_nor_sex(edited_tree, scan_tree, subject):
    def renumber(root):
        for path in list(root.rglob("IXI219*")):
            path.rename(path.with_name(path.name.replace("IXI219", subject)))

    facts = _facts(
        scan_tree(SOURCE, "archives", edited_tree(SOURCE, "archives", renumber)), subject
    )
    assert facts == {(("site", "IOP"), ("tesla", "1.5"))}


def test_heights_that_are_typing_errors_and_dates_are_not_kept(scan_fixture):
    for case in scan_fixture(SOURCE, "archives").cases.values():
        assert {name for name, _ in case.facts} <= {"site", "tesla", "sex", "age"}
        assert "1520" not in {value for _, value in case.facts}


def test_scan_of_a_subject_that_the_table_lacks_is_read(edited_tree, scan_tree):
    def renumber(root):
        for path in list(root.rglob("IXI012*")):
            path.rename(path.with_name(path.name.replace("IXI012", "IXI661")))

    facts = _facts(
        scan_tree(SOURCE, "archives", edited_tree(SOURCE, "archives", renumber)), "IXI661"
    )
    assert facts == {(("site", "HH"), ("tesla", "3"))}


def test_copy_without_the_table_is_read(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "archives", lambda r: (r / "IXI.xls").unlink())
    assert len(scan_tree(SOURCE, "archives", root).cases) == 16


def test_row_of_the_table_without_a_scan_is_no_case(scan_fixture):
    patients = {case.patient for case in scan_fixture(SOURCE, "archives").cases.values()}
    assert patients == {"IXI002", "IXI012", "IXI219"}


@pytest.mark.parametrize(
    ("subject", "tesla"), [(GUYS, "1.5"), (HAMMERSMITH, "3"), (PSYCHIATRY, "1.5")]
)
def test_strength_of_the_field_follows_from_the_hospital(scan_fixture, subject, tesla):
    (facts,) = _facts(scan_fixture(SOURCE, "archives"), subject)
    assert dict(facts)["tesla"] == tesla


def test_second_scan_of_a_subject_is_the_same_patient(edited_tree, scan_tree):
    def again(root):
        path = root / f"IXI-T2/{GUYS}-T2.nii.gz"
        shutil.copy(path, path.with_name("IXI002-Guys-0999-T2.nii.gz"))

    cases = scan_tree(SOURCE, "archives", edited_tree(SOURCE, "archives", again)).cases
    assert cases["IXI002-Guys-0999-T2-axial"].patient == "IXI002"


def test_healthy_is_a_volunteer_and_denies_no_finding(build_fixture):
    kinds = {field.kind for field in CARD.fields.values()}
    assert kinds == {FactKind("structure"), FactKind("view"), FactKind("protocol")}
    tasks = {item.task for item in build_fixture(SOURCE, "archives").items}
    assert tasks.isdisjoint({"Abnormality Diagnosis", "Disease Diagnosis", "Severity Grading"})


def test_shares_alike_licence_stays_with_every_picture(build_fixture):
    samples = build_fixture(SOURCE, "archives").samples
    assert {sample.licence for sample in samples} == {"CC-BY-SA-3.0"}


@pytest.mark.parametrize(
    "names",
    [
        ["image/IXI002-Guys-0828_image.nii.gz", "label/IXI002-Guys-0828_label.nii.gz"],
        ["sub-IXI002/ses-M000/anat/sub-IXI002_ses-M000_T1w.nii.gz"],
        ["IXI002-Guys-0828-T1.h5"],
        ["IXI002-Guys-0828-T1_s100.png"],
    ],
    ids=["tiny", "bids", "hdf5", "png"],
)
def test_other_edition_fits_no_layout(tmp_path, names):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits
