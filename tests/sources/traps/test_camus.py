"""Traps of the evidence card `camus`."""

import shutil

import nibabel
import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState, Scope, Visibility
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.echo import apical_labels, apical_view, ventricle
from medrcube.sources.registry import find_sources

UNTESTED = {
    "spacing-of-the-nifti-edition": "unverified; it is read from each header, never assumed",
    "phases-by-size-where-the-ecg-was-missing": "no field says for whom",
    "share-of-poor-pictures": "unverified, and not used",
    "two-views-of-one-patient-in-a-batch": "the quota spreads over patients, tested there",
    "left-heart-on-the-right-of-the-picture": "needs real pictures; no flip is made (tested)",
}
SOURCE = "camus"
CARD = find_sources()[SOURCE].card
NIFTI = "CAMUS_public/database_nifti/patient0001"


def _info(view, old, new):
    def edit(root):
        path = root / NIFTI / f"Info_{view}.cfg"
        path.write_text(path.read_text().replace(old, new))

    return edit


def _arrays(change, *ends):
    """An edit that rewrites the ED frame of the two-chamber view of patient 1."""

    def edit(root):
        for end in ends:
            path = root / NIFTI / f"patient0001_2CH_ED{end}.nii.gz"
            image = nibabel.load(path)
            nibabel.save(nibabel.Nifti1Image(change(image.get_fdata()), image.affine), path)

    return edit


def _values(case, field):
    return [label.value for label in case.labels if label.field == field]


def test_test_patients_share_names_with_other_persons(scan_fixture):
    cases = scan_fixture(SOURCE, "mhd").cases
    people = {cases[f"{split}-patient0001-2CH-ED"].patient for split in ("training", "testing")}
    assert len(people) == 2


def test_archive_unpacked_into_a_folder_of_its_own_name_is_read(
    edited_tree, scan_tree, scan_fixture
):
    def nest(root):
        inner = root / "inner"
        shutil.move(root / "training", inner)
        shutil.move(inner, root / "training/training")

    cases = scan_tree(SOURCE, "mhd", edited_tree(SOURCE, "mhd", nest)).cases
    assert cases.keys() == scan_fixture(SOURCE, "mhd").cases.keys()
    assert cases["training-patient0001-2CH-ED"].split == "training"


@pytest.mark.thorough
def test_patient_of_the_ted_offshoot_is_set_aside(build_fixture):
    codes = build_fixture(SOURCE, "mhd").codes()
    assert {code for name, code in codes.items() if "/patient001/" in name} == {"ignored-by-card"}


def test_end_diastole_that_comes_last_is_still_end_diastole(scan_fixture):
    case = scan_fixture(SOURCE, "nifti").cases["patient0002-2CH-ED-ES"]
    files = [image.paths[0].name for image in case.images]
    assert files == ["patient0002_2CH_ED.nii.gz", "patient0002_2CH_ES.nii.gz"]
    assert [label.value for label in case.panels] == ["ED", "ES"]
    assert case.panels[0].evidence.endswith("ED=21")


def test_phase_is_asked_of_both_frames_side_by_side_and_never_of_one(build_fixture):
    build = build_fixture(SOURCE, "nifti")
    sample_ids = {item.sample for item in build.items if item.field == "phase"}
    kinds = {sample.artefact for sample in build.samples if sample.id in sample_ids}
    assert kinds == {"numbered"}


def test_age_that_is_not_a_number_is_no_fact(scan_fixture):
    cases = scan_fixture(SOURCE, "nifti").cases
    assert dict(cases["patient0001-2CH-ED"].facts)["age"] == "56"
    assert "age" not in dict(cases["patient0003-2CH-ED"].facts)


def test_info_file_without_sections_keeps_the_case_of_its_keys(scan_fixture):
    case = scan_fixture(SOURCE, "nifti").cases["patient0001-4CH-ED"]
    assert dict(case.facts) == {"sex": "F", "age": "56", "quality": "Good"}


def test_nifti_stored_by_columns_is_turned_upright(scan_fixture):
    case = scan_fixture(SOURCE, "nifti").cases["patient0001-2CH-ED"]
    expected = apical_view(110, 84, seed=12, cavity=ventricle(seed=12), right=False)
    assert (readers.read(case.images[0]).slices[0] == expected).all()


def test_picture_keeps_the_probe_at_the_top(build_fixture):
    for layout, key in (("nifti", "patient0001-2CH-ED"), ("mhd", "training-patient0001-2CH-ED")):
        build = build_fixture(SOURCE, layout)
        pixels = build.pixels(build.sample(key)).astype(int)
        height, width = pixels.shape
        assert pixels[height // 10, width // 8] > 200
        assert pixels[-2, 2] < 50
        assert pixels[height // 10, -width // 8] < 50


def test_labels_stored_as_floats_are_rounded(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "nifti", _arrays(lambda a: a.astype(np.float32) * 1.0001, "_gt"))
    case = scan_tree(SOURCE, "nifti", root).cases["patient0001-2CH-ED"]
    volume = readers.read(case.images[0])
    truth = apical_labels(110, 84, seed=12, cavity=ventricle(seed=12))
    for region in case.regions:
        assert (rasterise(region.shape, volume)[0] == (truth == int(region.value))).all()


def test_greys_stored_as_floats_look_the_same(edited_tree, build_tree, build_fixture):
    root = edited_tree(SOURCE, "nifti", _arrays(lambda a: a.astype(np.float32), ""))
    build, expected = build_tree(SOURCE, root), build_fixture(SOURCE, "nifti")
    key = "patient0001-2CH-ED"
    assert (build.pixels(build.sample(key)) == expected.pixels(expected.sample(key))).all()


def test_greys_on_another_scale_are_refused(edited_tree, build_tree):
    root = edited_tree(SOURCE, "nifti", _arrays(lambda a: (a / 255).astype(np.float32), ""))
    assert build_tree(SOURCE, root).codes()["patient0001-2CH-ED"] == "not-8-bit"


def test_third_axis_of_one_slice_is_dropped(edited_tree, build_tree, build_fixture):
    root = edited_tree(SOURCE, "nifti", _arrays(lambda a: a[..., None].astype(np.uint8), "", "_gt"))
    build, expected = build_tree(SOURCE, root), build_fixture(SOURCE, "nifti")
    key = "patient0001-2CH-ED"
    assert (build.pixels(build.sample(key)) == expected.pixels(expected.sample(key))).all()


def test_pixels_that_are_not_square_are_made_so(build_fixture):
    sample = build_fixture(SOURCE, "mhd").sample("training-patient0001-2CH-ED")
    assert (sample.width, sample.height) == (168, 110)  # 84 columns of 0.308 mm, rows of 0.154


def test_value_two_is_the_wall_alone(build_fixture):
    build = build_fixture(SOURCE, "nifti")
    truth = apical_labels(110, 84, seed=12, cavity=ventricle(seed=12))
    areas = {
        name: build.sample("patient0001-2CH-ED", "outline", name).area
        for name in ("LV", "MYO", "LA")
    }
    expected = {"LV": 1, "MYO": 2, "LA": 3}
    assert areas == pytest.approx({k: (truth == v).mean() for k, v in expected.items()})


def test_ejection_is_stated_of_both_phases_alone_and_asked_of_no_picture(
    build_fixture, scan_fixture
):
    cases = scan_fixture(SOURCE, "nifti").cases
    stated = {key for key, case in cases.items() if _values(case, "ejection_fraction")}
    assert stated
    assert all(key.endswith("4CH-ED-ES") for key in stated)
    assert cases["patient0001-4CH-ED-ES"].shows is Scope.PATIENT
    assert "ejection_fraction" not in {item.field for item in build_fixture(SOURCE, "nifti").items}
    assert "Severity Grading" not in CARD.tasks


@pytest.mark.parametrize(
    ("ejection", "band"),
    [
        ("55", "LVEF >= 55"),
        ("54", "LVEF 40-54"),
        ("40", "LVEF 40-54"),
        ("39.9", "LVEF 30-39"),
        ("29", "LVEF < 30"),
    ],
)
def test_ejection_stands_in_the_band_that_begins_at_it(ejection, band):
    assert CARD.fields["ejection_fraction"].concept(ejection) == band


def test_ejection_has_another_name_in_the_older_edition(scan_fixture):
    case = scan_fixture(SOURCE, "mhd").cases["training-patient0001-4CH-ED-ES"]
    assert _values(case, "ejection_fraction") == ["62.1"]


def test_pair_of_a_patient_without_an_ejection_states_the_phases_alone(scan_fixture):
    pair = scan_fixture(SOURCE, "mhd").cases["testing-patient0001-4CH-ED-ES"]
    assert [label.value for label in pair.panels] == ["ED", "ES"]
    assert {label.field for label in pair.labels} == {"view", "quality"}


def test_contours_of_a_poor_picture_are_not_used(scan_fixture, build_fixture):
    assert scan_fixture(SOURCE, "nifti").cases["patient0005-2CH-ED"].regions == ()
    assert build_fixture(SOURCE, "nifti").items_of("patient0005-2CH-ED", "ROI Grounding") == []


def _pair_asked(build, case):
    return {item.field for item in build.items_of(case)} & {"phase"}


def test_phase_is_not_asked_of_poor_pictures(build_fixture):
    build = build_fixture(SOURCE, "nifti")
    assert _pair_asked(build, "patient0001-4CH-ED-ES") == {"phase"}
    assert _pair_asked(build, "patient0005-4CH-ED-ES") == set()
    assert build.codes()["patient0005-4CH-ED-ES"] == "panels-unsure"


def test_phase_is_not_asked_where_the_masks_refute_the_phases(edited_tree, build_tree):
    def swap(root):
        folder = root / NIFTI
        for end in ("", "_gt"):
            ed, es = (folder / f"patient0001_4CH_{p}{end}.nii.gz" for p in ("ED", "ES"))
            ed.rename(folder / "aside")
            es.rename(ed)
            (folder / "aside").rename(es)

    build = build_tree(SOURCE, edited_tree(SOURCE, "nifti", swap))
    assert _pair_asked(build, "patient0001-4CH-ED-ES") == set()
    assert build.codes()["patient0001-4CH-ED-ES"] == "panels-unsure"
    assert "view" in {item.field for item in build.items_of("patient0001-4CH-ED-ES")}


def test_phase_of_frames_without_contours_is_unconfirmed(build_fixture):
    assert _pair_asked(build_fixture(SOURCE, "mhd"), "testing-patient0001-4CH-ED-ES") == set()


def test_ejection_that_its_own_volumes_contradict_is_unknown(edited_tree, scan_tree, scan_fixture):
    def edit(root):
        path = root / "training/patient0001/Info_4CH.cfg"
        path.write_text(path.read_text().replace("LVef: 62.1", "LVef: 35.0"))

    def label(scan):
        case = scan.cases["training-patient0001-4CH-ED-ES"]
        return next(
            candidate for candidate in case.labels if candidate.field == "ejection_fraction"
        )

    assert label(scan_fixture(SOURCE, "mhd")).state is LabelState.PRESENT
    contradicted = label(scan_tree(SOURCE, "mhd", edited_tree(SOURCE, "mhd", edit)))
    assert contradicted.state is LabelState.UNKNOWN
    assert "patient0001/Info_4CH.cfg" in contradicted.evidence
    assert "LVedv=94.7" in contradicted.evidence


def test_quality_of_the_picture_is_no_grade_of_disease(build_fixture):
    for layout in ("nifti", "mhd"):
        assert "quality" not in {item.field for item in build_fixture(SOURCE, layout).items}


def test_test_frames_without_contours_are_still_pictures(build_fixture, scan_fixture):
    key = "testing-patient0001-2CH-ED"
    assert scan_fixture(SOURCE, "mhd").cases[key].regions == ()
    tasks = {item.task for item in build_fixture(SOURCE, "mhd").items_of(key)}
    assert "View Recognition" in tasks


def test_frames_between_the_two_phases_are_no_cases(build_fixture):
    codes = build_fixture(SOURCE, "nifti").codes()
    for end in ("half_sequence", "half_sequence_gt"):
        assert codes[f"{NIFTI}/patient0001_2CH_{end}.nii.gz"] == "ignored-by-card"


def test_what_is_not_contoured_is_not_denied(scan_fixture):
    case = scan_fixture(SOURCE, "nifti").cases["patient0001-4CH-ED"]
    ground = facts_of_case(CARD, case, load_terms())
    assert {"LV", "MYO", "LA"} <= ground.present.keys()
    assert "RV (structure)" not in ground.absent


def test_view_follows_the_file_name(scan_fixture, build_fixture):
    build = build_fixture(SOURCE, "nifti")
    for view, concept in (("2CH", "A2C"), ("4CH", "A4C")):
        (item,) = build.items_of(f"patient0001-{view}-ED", "View Recognition")
        assert item.concept == concept


def test_split_is_read_from_its_files(edited_tree, scan_tree):
    def swap(root):
        folder = root / "CAMUS_public/database_split"
        (folder / "subgroup_training.txt").write_text("patient0005\n")
        (folder / "subgroup_testing.txt").write_text("patient0001\n")

    cases = scan_tree(SOURCE, "nifti", edited_tree(SOURCE, "nifti", swap)).cases
    assert cases["patient0001-2CH-ED"].split == "testing"
    assert cases["patient0005-2CH-ED"].split == "training"


def test_editions_are_told_apart(fixture_tree):
    for layout in ("nifti", "mhd"):
        assert inspect_copy(CARD, fixture_tree(SOURCE, layout)).layout == layout


def test_pictures_are_not_passed_on_while_the_licence_is_unconfirmed(build_fixture):
    assert {s.redistribute for s in build_fixture(SOURCE, "nifti").samples} == {False}


def test_a_fraction_of_two_views_is_not_asked_of_one():
    settings = CARD.measures["left_ejection_fraction"].task_settings
    assert len(settings.panels) == 2  # both phases, of the four-chamber view alone
    assert settings.visible is Visibility.NO
    assert CARD.fields["ejection_fraction"].visible is Visibility.NO
