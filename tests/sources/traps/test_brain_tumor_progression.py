"""Traps of the evidence card `brain-tumor-progression`."""

import shutil

import pytest
from pydicom import dcmread

from medrcube.sources.registry import find_sources

UNTESTED = {
    "shared-patients-with-qin-brain-dsc-mri": "deduced, not known of any patient",
    "who-drew-the-masks": "unverified; the field is marked as partly visible",
    "blurred-edges-of-registered-series": "a shortcut that no copy can be rid of",
}
SOURCE, LAYOUT = "brain-tumor-progression", "tcia"
CARD = find_sources()[SOURCE].card
HOME = "Brain-Tumor-Progression/PGBM-001/11-19-1991-FH-HEADBrain Protocols-40991"
PROTOCOL, REGION = "Imaging Protocols Recognition", "ROI Grounding"


@pytest.fixture
def fixture_scan(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT)


@pytest.fixture
def build(build_fixture):
    return build_fixture(SOURCE, LAYOUT)


@pytest.fixture
def edited(edited_tree, scan_tree):
    """A scan of the fixture after header elements of one series are set."""

    def make(series, **tags):
        def edit(root):
            for path in (root / HOME).glob(f"*-{series}-*/*.dcm"):
                data = dcmread(path)
                for keyword, value in tags.items():
                    setattr(data, keyword, value)
                data.save_as(path)

        return scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))

    return make


def _of(scan, patient, kind):
    return [case for key, case in scan.cases.items() if key.startswith(patient) and kind in key]


def _slice(build, key):
    (recipe,) = build.recipes(key, "clean")
    return recipe["images"][0]["frame"]


def test_description_and_folder_may_spell_a_series_differently(fixture_scan):
    assert len(_of(fixture_scan, "PGBM-001", "t1prereg")) == 2


def test_both_examinations_are_of_one_patient(fixture_scan):
    assert {case.patient for case in _of(fixture_scan, "PGBM-001", "")} == {"PGBM-001"}


def test_slices_are_in_the_order_of_their_places_and_not_of_their_files(build, fixture_scan):
    """The tumour is largest on the sixth slice, which the first file holds."""
    (key,) = (key for key in fixture_scan.cases if key.startswith("PGBM-002") and "t2reg" in key)
    assert _slice(build, key) == 5


def test_all_series_of_a_study_show_the_slice_of_the_largest_tumour(build, fixture_scan):
    keys = [case.key for case in _of(fixture_scan, "PGBM-002", "")]
    assert {_slice(build, key) for key in keys} == {5}


def test_mask_of_one_file_a_slice_marks_the_tumour(build, fixture_scan):
    (key,) = (key for key in fixture_scan.cases if key.startswith("PGBM-002") and "t1post" in key)
    assert build.sample(key, "boxes", "brain tumor")
    assert {case.regions == () for case in _of(fixture_scan, "PGBM-002", "t2reg")} == {True}


def test_t1_is_asked_only_where_a_mask_chose_the_slice(build, fixture_scan):
    """At the vertex of a real study T1 before and after contrast agent look alike."""
    with_mask = {case.key for case in _of(fixture_scan, "PGBM-002", "t1")}
    without = {case.key for case in _of(fixture_scan, "PGBM-003", "t1")}
    assert all(PROTOCOL in build.tasks_of(key) for key in with_mask)
    assert not any(PROTOCOL in build.tasks_of(key) for key in without)
    assert all(
        PROTOCOL in build.tasks_of(case.key) for case in _of(fixture_scan, "PGBM-003", "t2reg")
    )


def test_crop_of_a_teaching_copy_is_set_aside_though_it_shares_the_frame_of_reference(fixture_scan):
    assert [why for why in fixture_scan.skips.values() if "is none of the series" in why]


@pytest.mark.parametrize("kind", ["dt1", "adcreg", "srcbvreg", "nrcbvreg", "ncbfreg"])
def test_maps_are_set_aside(kind, fixture_scan):
    assert not [key for key in fixture_scan.cases if kind in key]
    assert "a map that was computed of other series" in fixture_scan.skips.values()


@pytest.mark.parametrize(
    ("series", "tags"),
    [
        ("T1prereg", {"EchoTime": 90}),
        ("T2reg", {"EchoTime": 10}),
        ("FLAIRreg", {"InversionTime": None}),
        ("T2reg", {"EchoTime": None}),
    ],
)
def test_times_that_contradict_the_name_set_the_series_aside(edited, series, tags):
    assert edited(series, **tags).bad_rows("contradicts the name of the series")


def test_series_on_another_grid_is_set_aside(edited):
    scan = edited("T2reg", FrameOfReferenceUID="1.2.3")
    assert scan.bad_rows("another grid than t1post")


def test_two_series_of_one_kind_in_a_study_are_set_aside(edited_tree, scan_tree):
    def edit(root):
        (folder,) = (root / HOME).glob("*-T2reg-*")
        twin = folder.with_name("99-T2reg-99999")
        shutil.copytree(folder, twin)
        for path in twin.iterdir():
            data = dcmread(path)
            data.SeriesInstanceUID += ".9"
            data.save_as(path)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert len(scan.bad_rows("two series of one kind")) == 2


def test_mask_on_another_grid_marks_nothing(edited_tree, scan_tree):
    def edit(root):
        (folder,) = (root / HOME).glob("*-MaskTumor-*")
        next(folder.iterdir()).unlink()

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    lost = [case for case in _of(scan, "PGBM-001", "t1post") if not case.regions]
    assert len(lost) == 1


def test_neither_diagnosis_nor_progression_is_asked():
    assert {"disease", "severity"}.isdisjoint(field.kind for field in CARD.fields.values())


def test_box_beside_the_tumour_is_no_certain_distractor():
    assert CARD.fields["tumor"].absence == "silent"
    assert not CARD.fields["tumor"].whole
