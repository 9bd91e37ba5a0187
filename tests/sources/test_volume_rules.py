"""Rules of single adapters that choose slices and refuse what their cards assume."""

import nibabel
import numpy as np
import pytest

from medrcube.build.pixels.geometry import reorient
from medrcube.build.readers.nifti import read
from medrcube.errors import ReadError, SourceError
from medrcube.facts import Case, Skip
from medrcube.sources._formats.nifti_masks import load_labels
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.thorough  # like the traps of a source

SOURCES = find_sources()


@pytest.fixture
def scanned(tmp_path):
    """The cases of a source's first fixture, by key."""

    def scan(name, change=lambda _: None):
        source = SOURCES[name]
        layout = source.card.layouts[0].name
        source.build_fixture(tmp_path, layout)
        change(tmp_path)
        return {entry.key: entry for entry in source.scan(tmp_path, layout)}

    return scan


def _frames(name, case):
    volume = reorient(read(case.images[0].paths[0]), case.plane or "axial")
    return SOURCES[name].hook("frames")(case, volume)


def test_echonet_sets_aside_what_its_tracings_cannot_bear(scanned):
    entries = scanned("echonet-dynamic")
    reasons = {key: entry.reason for key, entry in entries.items() if isinstance(entry, Skip)}
    assert reasons == {
        "0X7A": "0 frames are traced; expected two",
        "0X8B": "768 x 768 pixels; tracings belong to 112",
        "0X9C": "the outline of frame 1 crosses itself",
        "0XAD-ED-ES ejection_fraction": (
            "FileList.csv:8 EF=35.0 against EDV=82, ESV=32: the volumes give a different fraction, "
            "so it is not asked"
        ),
    }


def test_echonet_takes_the_larger_outline_for_diastole_whatever_the_order(scanned):
    entries = scanned("echonet-dynamic")
    frames = {name: entries[f"{name}-ED"].images[0].frame for name in ("0X1A", "0X2B")}
    assert frames == {"0X1A": 4, "0X2B": 1}
    assert [image.frame for image in entries["0X1A-ED-ES"].images] == [4, 1]


def test_echonet_refuses_the_tracings_of_a_sister_set(scanned):
    def add_column(root):
        table = next(root.rglob("VolumeTracings.csv"))
        lines = table.read_text().splitlines()
        table.write_text("\n".join(f"{line},extra" for line in lines))

    with pytest.raises(SourceError, match="is this EchoNet-LVH or EchoNet-Pediatric"):
        scanned("echonet-dynamic", add_column)


def test_isles_calls_a_slice_free_only_far_from_every_marked_voxel(scanned):
    entries = scanned("isles2022")
    for number in (1, 4, 9):
        case = entries[f"sub-strokecase{number:04}-dwi-clear"]
        areas = load_labels(case.guide[0].paths[0]).mask_of().areas("axial")
        (index,) = _frames("isles2022", case)
        assert not areas[index - 2 : index + 3].any()


def test_isles_shows_flair_at_the_height_of_the_lesion(scanned):
    entries = scanned("isles2022")
    (dwi,) = _frames("isles2022", entries["sub-strokecase0004-dwi"])
    (flair,) = _frames("isles2022", entries["sub-strokecase0004-flair"])
    assert (dwi, flair) == (12, round(12 * 5 / 6))


def test_isles_calls_nothing_healthy_when_the_mask_is_empty(scanned):
    with pytest.raises(ReadError, match="nothing is marked"):
        _frames("isles2022", scanned("isles2022")["sub-strokecase0120-dwi-clear"])


@pytest.mark.thorough
def test_brats_shows_all_sequences_of_a_patient_at_one_place(scanned):
    entries = scanned("brats2021")
    slices = {
        tuple(_frames("brats2021", entries[f"BraTS2021_00003-{sequence}-axial"]))
        for sequence in ("t1", "t1ce", "t2", "flair")
    }
    assert len(slices) == 1


@pytest.mark.thorough
def test_brats_marks_nothing_on_plain_t1_and_no_edema_after_contrast(scanned):
    marked = {
        case.labels[1].value: {region.value for region in case.regions}
        for case in scanned("brats2021").values()
        if isinstance(case, Case) and not case.compared
    }
    assert marked == {
        "t1": set(),
        "t1ce": {"1", "4", "1+4"},
        "t2": {"2", "1+2+4"},
        "flair": {"2", "1+2+4"},
    }


def test_mmwhs_refuses_a_label_whose_directions_are_wrong(scanned):
    case = scanned("mmwhs")["ct_train_1001-axial"]
    label = case.files()[-1]
    nifti = nibabel.load(label)
    turned = np.diag([-1, 1, 1, 1]) @ nifti.affine
    nibabel.save(nibabel.Nifti1Image(np.asarray(nifti.dataobj), turned), label)
    with pytest.raises(ReadError, match="its directions are wrong"):
        _frames("mmwhs", case)


def test_mmwhs_refuses_a_ct_that_is_not_in_hounsfield_units(scanned):
    case = scanned("mmwhs")["ct_train_1001-axial"]
    path = case.images[0].paths[0]
    nifti = nibabel.load(path)
    moved = (np.asarray(nifti.dataobj) + 1024).astype(np.int16)
    nibabel.save(nibabel.Nifti1Image(moved, nifti.affine), path)
    with pytest.raises(ReadError, match="expects air below -800 HU") as raised:
        SOURCES["mmwhs"].hook("read")(case.images[0])
    assert raised.value.code == "not-hounsfield"


def test_ixi_keeps_no_age_where_two_rows_of_a_subject_disagree(scanned):
    entries = scanned("ixi")
    facts = {case.patient: dict(case.facts) for case in entries.values() if not case.compared}
    assert facts["IXI002"] == {
        "site": "Guys",
        "tesla": "1.5",
        "sex": "female",
        "age": "35.800137",
    }
    assert facts["IXI219"] == {"site": "IOP", "tesla": "1.5"}
