"""What the lung CT sources promise beyond the contract of all sources."""

import shutil
from collections import Counter

import numpy as np
import pytest

from medrcube.build.pixels.volume import Volume
from medrcube.errors import ReadError, SourceError
from medrcube.facts import Case, Consensus, LabelState, Scope, Skip
from medrcube.sources._formats.annotations.lidc_xml import largest_slice, match_marks, read_reading
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.thorough  # like the traps of a source

SOURCES = find_sources()


@pytest.fixture
def write_fixture(tmp_path):
    """Write the fixture of a source: ``write_fixture("covid-ct", "kaggle")`` returns its root."""

    def make(source, layout):
        root = tmp_path / source
        SOURCES[source].build_fixture(root, layout)
        return root

    return make


def scan(source, root, layout):
    return {entry.key: entry for entry in SOURCES[source].scan(root, layout)}


def labels(case):
    return {(label.field, label.value, label.state) for label in case.labels}


def stack(units):
    """What a ``frames`` hook is given, of one value a slice."""
    return Volume(slices=np.array(units, np.int16))


def test_lidc_takes_a_nodule_that_three_of_four_readers_marked(write_fixture):
    source_scan = scan("lidc-idri", write_fixture("lidc-idri", "classic"), "classic")
    counts = Counter(
        len(region.shape.readings)
        for case in source_scan.values()
        if isinstance(case, Case)
        for region in case.regions
        if isinstance(region.shape, Consensus)
    )
    assert set(counts) == {3, 4}
    assert any("2 of 4" in skip.reason for skip in source_scan.values() if isinstance(skip, Skip))


def test_lidc_shows_the_slice_on_which_the_readers_agree_most(write_fixture):
    root = write_fixture("lidc-idri", "classic")
    source_scan = scan("lidc-idri", root, "classic")
    case = next(case for key, case in source_scan.items() if key.startswith("LIDC-IDRI-0001"))
    (folder,) = {path.parent for path in case.files()}
    reading = read_reading(folder / "001.xml")
    (nodule,) = match_marks(reading.marks, spacing=2, thickness=3)
    region = case.regions[0].shape
    assert {o.slice for r in region.readings for o in r.outlines} == {largest_slice(nodule)}


def test_lidc_leaves_open_what_a_single_reader_chose(write_fixture):
    source_scan = scan("lidc-idri", write_fixture("lidc-idri", "classic"), "classic")
    case = next(case for key, case in source_scan.items() if key.startswith("LIDC-IDRI-0001"))
    assert ("malignancy", "5", LabelState.PRESENT) in labels(case)
    assert ("malignancy", "4", LabelState.UNKNOWN) in labels(case)


def test_lidc_shows_several_nodules_for_the_diagnosis_of_a_patient(write_fixture):
    source_scan = scan("lidc-idri", write_fixture("lidc-idri", "descriptive"), "descriptive")
    case = source_scan["LIDC-IDRI-0003-diagnosis"]
    assert (len(case.images), case.shows) == (2, Scope.PATIENT)


def test_lidc_refuses_a_series_whose_readings_contradict_each_other(write_fixture):
    root = write_fixture("lidc-idri", "classic")
    (root / "161-resubmitted-correction-3-9-12.xml").unlink()
    source_scan = scan("lidc-idri", root, "classic")
    assert any(
        "contradict" in skip.reason for skip in source_scan.values() if isinstance(skip, Skip)
    )


def test_a_cut_reading_of_lidc_sets_its_series_aside_and_no_other(write_fixture):
    root = write_fixture("lidc-idri", "classic")
    before = scan("lidc-idri", root, "classic")
    reading = next(root.rglob("LIDC-IDRI-0006/**/*.xml"))
    reading.write_bytes(reading.read_bytes()[:-200])
    after = scan("lidc-idri", root, "classic")
    (aside,) = (entry for entry in after.values() if entry.key.startswith("LIDC-IDRI-0006"))
    place = f"{reading.parent.name}/{reading.name}"
    assert aside.code == "bad-row"
    assert aside.reason.startswith(f"{place} is not valid XML")
    others = [key for key in before if not key.startswith("LIDC-IDRI-0006")]
    assert {key: before[key] for key in others}.items() <= after.items()


def test_a_reading_of_lidc_that_tells_no_series_is_named(write_fixture):
    root = write_fixture("lidc-idri", "classic")
    before = scan("lidc-idri", root, "classic")
    (root / "tcia-lidc-xml/900").mkdir(parents=True)
    (root / "tcia-lidc-xml/900/1.xml").write_bytes(b"<LidcReadMessage>")
    after = scan("lidc-idri", root, "classic")
    (new,) = after.keys() - before.keys()
    assert new == "tcia-lidc-xml/900/1.xml"
    assert "cannot be told" in after[new].reason
    assert before.items() <= after.items()


def test_diagnoses_of_lidc_that_cannot_be_read_are_named_and_not_asked(write_fixture):
    root = write_fixture("lidc-idri", "classic")
    table = next(root.rglob("tcia-diagnosis-data*"))
    table.write_bytes(b"PK\x03\x04 cut")
    source_scan = scan("lidc-idri", root, "classic")
    assert source_scan[table.name].code == "bad-row"
    fields = {
        label.field
        for case in source_scan.values()
        if isinstance(case, Case)
        for label in case.labels
    }
    assert "nodule" in fields
    assert "diagnosis" not in fields


@pytest.mark.real
def test_lidc_understands_every_row_of_the_real_diagnoses(real_raw):
    source = SOURCES["lidc-idri"]
    copy = RawTree(real_raw / "LIDC-IDRI").of_layout(source.card.layout("classic"))
    diagnoses = source.find_hook("_diagnoses")(copy)
    assert len(diagnoses) == 157
    assert {label.value for label in diagnoses.values()} == {"0", "1", "2", "3"}


def test_mosmed_sets_a_study_aside_where_registry_and_folder_disagree(write_fixture):
    root = write_fixture("mosmed-covid19", "nifti")
    studies = root / "COVID19_1110/studies"
    shutil.move(studies / "CT-0/study_0001.nii.gz", studies / "CT-3/study_0001.nii.gz")
    case = scan("mosmed-covid19", root, "nifti")["study_0001"]
    assert isinstance(case, Skip)
    assert (case.code, "re-sorted" in case.reason) == ("bad-row", True)


def test_mosmed_sets_a_study_aside_where_the_registry_has_other_columns(write_fixture):
    root = write_fixture("mosmed-covid19", "nifti")
    rows = [["category", "study_file"], ["CT-0", "/studies/CT-0/study_0001.nii.gz"]]
    registry = root / "COVID19_1110/dataset_registry.xlsx"
    write_spreadsheet(registry, {"MosMedData COVID19_1110": rows})
    case = scan("mosmed-covid19", root, "nifti")["study_0001"]
    assert isinstance(case, Skip)
    assert case.code == "bad-row"
    assert "dataset_registry.xlsx:2 second column=(like /xxxxxxx/XX-9/xxxxx_9999" in case.reason


def test_mosmed_refuses_the_teaching_edition(write_fixture):
    root = write_fixture("mosmed-covid19", "nifti")
    (root / "COVID19_1110/studies/CT-23").mkdir()
    (root / "COVID19_1110/studies/CT-23/study_0256.nii.gz").touch()
    with pytest.raises(SourceError, match="teaching edition"):
        scan("mosmed-covid19", root, "nifti")


def test_mosmed_asks_a_grade_of_the_slice_with_the_most_aerated_lung():
    frames = SOURCES["mosmed-covid19"].hook("frames")
    soft, lung, outside = [[40, 40]], [[-850, -850]], [[-1000, -2048]]
    graded = Case(key="study_0001", images=())
    assert frames(graded, stack([outside, soft, lung])) == [2]


def test_iq_refuses_a_copy_with_more_pictures_than_the_release(write_fixture):
    root = write_fixture("iq-othnccd", "original")
    normal = next(root.rglob("Normal case (3).jpg"))
    shutil.copy(normal, normal.with_name("Normal case (417).jpg"))
    with pytest.raises(SourceError, match="augmented"):
        scan("iq-othnccd", root, "original")


def test_iq_refuses_sizes_that_give_the_class_away():
    with pytest.raises(ReadError, match="give the answer away"):
        SOURCES["iq-othnccd"].hook("frames")(Case(key="x", images=()), stack([[[0] * 3] * 4]))


def test_iq_orders_pictures_by_number(write_fixture):
    source_scans = scan("iq-othnccd", write_fixture("iq-othnccd", "original"), "original")
    benign = [key for key in source_scans if key.startswith("Benign")]
    assert benign == [f"Benign case ({n})" for n in (1, 2, 10, 120)]


def test_covid_ct_finds_rows_that_lack_the_suffix_of_the_file(write_fixture):
    source_scan = scan("covid-ct", write_fixture("covid-ct", "repository"), "repository")
    patients = {key: case.patient for key, case in source_scan.items()}
    assert patients["CT_COVID/2020.02.10.20021584-p6-52%0.png"] == "CT_COVID:Patient 2"
    assert patients["CT_NonCOVID/1%0.jpg"] == "CT_NonCOVID:crawled_patient_1"


def test_covid_ct_leaves_a_converted_copy_out_but_not_a_listed_twin(write_fixture):
    root = write_fixture("covid-ct", "repository")
    folder = root / "Images-processed/CT_NonCOVID"
    shutil.copy(folder / "2.png", folder / "0.png")
    shutil.copy(folder / "0.jpg", folder / "2.jpg")
    source_scan = scan("covid-ct", root, "repository")
    assert isinstance(source_scan["CT_NonCOVID/0.png"], Skip)
    assert isinstance(source_scan["CT_NonCOVID/2.png"], Case)


def test_nsclc_falls_back_to_the_structure_set(write_fixture):
    root = write_fixture("nsclc-radiomics", "descriptive")
    for path in root.rglob("LUNG1-001/*/300*/1-1.dcm"):
        path.unlink()
    source_scan = scan("nsclc-radiomics", root, "descriptive")
    (region,) = source_scan["LUNG1-001-tumor"].regions
    assert (region.shape.member, region.shape.values) == ("GTV-1", ())
    (region,) = source_scan["LUNG1-002-tumor"].regions
    assert (region.shape.member, region.shape.values) == (None, (1,))


def test_nsclc_sets_a_series_of_another_patient_aside(write_fixture):
    root = write_fixture("nsclc-radiomics", "descriptive")
    study = next(root.rglob("LUNG1-001/*"))
    shutil.copytree(next(root.rglob("LUNG1-002/*/1.*")), study / "nested")
    source_scan = scan("nsclc-radiomics", root, "descriptive")
    assert "another patient" in source_scan["LUNG1-001/nested"].reason
    assert all("nested" not in str(path) for path in source_scan["LUNG1-001-tumor"].files())


def test_msd_leaves_metadata_files_of_macos_alone(write_fixture):
    source_scan = scan("msd-lung", write_fixture("msd-lung", "original"), "original")
    assert {case.patient for case in source_scan.values()} == {"lung_001", "lung_053", "lung_096"}


@pytest.mark.parametrize(
    ("source", "layout", "patient"),
    [("lidc-idri", "classic", "LIDC-IDRI-0002"), ("nsclc-radiomics", "classic", "LUNG1-002")],
)
def test_a_damaged_header_costs_its_patient_and_no_other(write_fixture, source, layout, patient):
    root = write_fixture(source, layout)
    before = scan(source, root, layout)
    damaged = next(root.rglob(f"{patient}/*/*/000001.dcm"))
    damaged.write_bytes(damaged.read_bytes()[:132] + b"\xff" * 64)
    source_scan = scan(source, root, layout)
    assert damaged in source_scan[patient].paths
    others = {key for key, entry in before.items() if isinstance(entry, Case)}
    lost = others - {key for key, entry in source_scan.items() if isinstance(entry, Case)}
    assert {key[: len(patient)] for key in lost} == {patient}
