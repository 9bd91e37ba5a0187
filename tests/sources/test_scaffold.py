import ast
import tomllib

import nibabel
import numpy as np
import pandas as pd
import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.source_checks.damaged_copies import scans_ended_by_a_row
from medrcube.build.source_checks.source_check import check_source
from medrcube.build_settings import BuildSettings
from medrcube.cli.sources.new import new
from medrcube.console.progress import Reporter
from medrcube.errors import MedrcubeError, SourceError
from medrcube.facts import Case, LabelState, Skip
from medrcube.sources._framework.contract import load_source
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._framework.raw_tree.survey import survey
from medrcube.sources._framework.scaffold import new_source
from medrcube.sources._synthetic.any_format import write_example, write_example_mask
from medrcube.sources._synthetic.images import CANARY, write_dicom, write_lines, write_nifti
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet
from medrcube.workspace import WorkspaceFolder

NAMES = ["Ada Example", "Bea Example", "Cyd Example"]


def _table(root):
    rows = ["Patient Name;patient_id;file;Effusion;Grade;split"]
    for number in range(6):
        write_example(root / f"films/f{number}.png", seed=number)
        flag, grade = number % 2, ("mild", "severe")[number % 2]
        split = ("train", "test")[number // 3]
        rows.append(f"{NAMES[number // 2]};P{number // 2};f{number};{flag};{grade};{split}")
    rows.append(f"{NAMES[0]};P0;f99;0;mild;test")
    write_lines(root / "labels.csv", rows)


def _classes(root):
    for name in ("benign", "no tumour"):
        for number in range(3):
            write_example(root / f"set [1]/{name}/{name} ({number}).png", seed=number)
            write_example_mask(root / f"set [1]/{name}/{name} ({number})_mask.png", seed=number)


def _series(root):
    for patient in ("a", "b"):
        for seed in range(3):
            write_example(root / f"{patient}/IM{seed}", seed=seed)
    write_lines(root / "readme.txt", ["text"])


def _volumes(root):
    for number in range(2):
        write_example(root / f"imagesTr/v_{number}.nii.gz", seed=number)
        write_example_mask(root / f"labelsTr/v_{number}.nii.gz", seed=number)


TREES = {"table": _table, "classes": _classes, "series": _series, "volumes": _volumes}
each_tree = pytest.mark.parametrize("tree", TREES)


@pytest.fixture
def draft(tmp_path, tree):
    root = tmp_path / "raw"
    TREES[tree](root)
    return load_source(new_source("my-source", root, tmp_path / "sources")), root


@each_tree
def test_the_layout_fits_the_tree_that_it_was_made_of(draft):
    source, root = draft
    report = inspect_copy(source.card, root)
    assert report.complete
    assert source.folder.name == "my_source"


@each_tree
def test_every_picture_of_the_tree_becomes_a_case(draft, tree):
    source, root = draft
    entries = [entry for entry in source.scan(root, "files") if isinstance(entry, Case)]
    expected = {"table": 6, "classes": 6, "series": 2, "volumes": 2}
    assert len(entries) == expected[tree]
    assert all(path.exists() for case in entries for path in case.files())


@pytest.mark.few(1)
@each_tree
def test_the_fixture_builds_into_pictures_and_items(draft, tmp_path):
    source, _ = draft
    raw = tmp_path / "fixture"
    source.build_fixture(raw, "files")
    settings = BuildSettings(even_keys=False)  # a lone source has one modality
    workspace = WorkspaceFolder(
        root=tmp_path / "workspace", sources={"my-source": raw}, settings=settings
    )
    workspace.root.mkdir()
    report = build(workspace, {"my-source": source}, LocalEngine(1), Reporter(quiet=True))
    cases = [case for case in source.scan(raw, "files") if isinstance(case, Case)]
    assert cases
    assert len(set(pd.read_parquet(workspace.samples)["case"])) == len(cases)
    assert set(pd.read_parquet(workspace.items)["task"]) == {"Modality Recognition"}
    assert all(failure.startswith("batch rule even-keys") for failure in report.failures)


@each_tree
def test_what_a_person_must_decide_is_marked(draft):
    source, _ = draft
    card = (source.folder / "card.toml").read_text(encoding="utf-8")
    for key in ("anatomy", "licence", "redistribute", "homepage", "steps", "evidence", "tasks"):
        assert "TODO" in next(line for line in card.splitlines() if line.startswith(key)), key
    for file in ("adapter.py", "fixture.py"):
        text = (source.folder / file).read_text(encoding="utf-8")
        ast.parse(text)
        assert "TODO" in text


@pytest.mark.parametrize("tree", ["table"])
def test_values_of_a_column_about_persons_are_written_nowhere(draft):
    source, _ = draft
    text = "".join(path.read_text(encoding="utf-8") for path in source.folder.glob("*.*"))
    assert not any(name in text for name in NAMES)
    assert "P1" not in text
    assert CANARY in (source.folder / "fixture.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("tree", ["table"])
def test_a_zero_is_not_taken_for_absence(draft):
    source, root = draft
    cases = [entry for entry in source.scan(root, "files") if isinstance(entry, Case)]
    states = {label.state for case in cases for label in case.labels if label.field == "finding"}
    assert states == {LabelState.PRESENT, LabelState.UNKNOWN}


@pytest.mark.parametrize("tree", ["table"])
def test_columns_become_fields_patient_and_split(draft):
    card = (draft[0].folder / "card.toml").read_text(encoding="utf-8")
    assert "this draft does not read it" not in card
    source, root = draft
    *cases, last = source.scan(root, "files")
    assert source.card.patient == "known"
    assert {label.field: label.value for label in cases[1].labels} == {
        "finding": "Effusion",
        "grade": "severe",
    }
    assert (cases[5].patient, cases[5].split) == ("P2", "test")
    assert isinstance(last, Skip)
    assert "not in this copy" in last.reason


@pytest.mark.parametrize("tree", ["classes"])
def test_folders_become_values_and_masks_regions(draft):
    source, root = draft
    assert list(source.card.fields["folder"].values) == ["benign", "no tumour"]
    case = next(iter(source.scan(root, "files")))
    assert case.labels[0].value == "benign"
    assert case.regions[0].shape.paths[0].name == "benign (0)_mask.png"


@pytest.mark.parametrize(("splits", "offered"), [(("train", "test"), True), (("all",), False)])
def test_many_folders_are_classes_only_where_their_names_recur(tmp_path, splits, offered):
    words = [chr(ord("a") + number) * 3 for number in range(13)]
    for word in words:
        for seed, split in enumerate(splits * 2):
            write_example(tmp_path / split / word / f"{seed}.png", seed=seed)
    assert survey(tmp_path).classes == (tuple(words) if offered else ())


@pytest.mark.parametrize("tree", ["volumes"])
def test_masks_in_a_folder_of_their_own_are_found_and_no_pictures(draft):
    source, root = draft
    case = next(iter(source.scan(root, "files")))
    assert case.images[0].paths[0].parent.name == "imagesTr"
    assert case.regions[0].shape.paths[0].parent.name == "labelsTr"


@pytest.mark.parametrize("tree", ["volumes"])
def test_headers_of_volumes_are_shown_to_the_person(draft):
    card = (draft[0].folder / "card.toml").read_text(encoding="utf-8")
    assert "shape 140 x 120 x 6, mm 1 x 1 x 3, axes to LPS, stored as int16" in card


@pytest.mark.parametrize("tree", ["series"])
def test_of_dicom_headers_only_listed_elements_are_shown(draft):
    card = (draft[0].folder / "card.toml").read_text(encoding="utf-8")
    assert "Modality OT, PhotometricInterpretation MONOCHROME2, Rows 120, Columns 140" in card
    assert CANARY not in card


def test_masks_of_equal_names_in_several_folders_stay_with_their_picture(tmp_path):
    for name in ("a", "b"):
        for number in range(2):
            write_example(tmp_path / f"raw/{name}/{number}.png", seed=number)
            write_example_mask(tmp_path / f"raw/{name}/{number}_mask.png", seed=number)
    folder = new_source("twice", tmp_path / "raw", tmp_path)
    for case in load_source(folder).scan(tmp_path / "raw", "files"):
        assert case.regions[0].shape.paths[0].parent == case.images[0].paths[0].parent


def test_masks_that_names_do_not_tell_apart_are_left_to_the_person(tmp_path):
    for name in ("a", "b"):
        for number in range(2):
            write_example(tmp_path / f"raw/{name}/{number}.png", seed=number)
            write_example_mask(tmp_path / f"raw/{name}/masks/{number}.png", seed=number)
    folder = new_source("twice", tmp_path / "raw", tmp_path)
    entries = list(load_source(folder).scan(tmp_path / "raw", "files"))
    cases = [entry for entry in entries if isinstance(entry, Case)]
    assert len(cases) == 4
    assert not any(case.regions for case in cases)
    assert len(entries) == 8  # each mask is set aside
    assert "TODO: the regions" in (folder / "adapter.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "names",
    [
        ("patient1", "patient2"),
        ("P01", "P02"),
        ("1", "2"),
        ("LIDC-IDRI-0001", "LIDC-IDRI-0002"),
        ("sub-7a", "sub-7b"),
        ("Doe^Jane", "Roe^Rick"),
        ("benign", "case 4"),
    ],
)
def test_folders_of_patients_are_no_labels(tmp_path, names):
    for name in names:
        for number in range(2):
            write_example(tmp_path / f"raw/{name}/{number}.png", seed=number)
    source = load_source(new_source("mine", tmp_path / "raw", tmp_path / "sources"))
    assert not source.card.fields
    text = "".join(path.read_text(encoding="utf-8") for path in source.folder.glob("*.*"))
    assert not any(f'"{name}"' in text for name in names)
    assert len(list(source.scan(tmp_path / "raw", "files"))) == 4


@pytest.mark.parametrize(
    "names", [("grade 1", "grade 2"), ("COVID-19", "normal"), ("BI-RADS 4", "BI-RADS 5")]
)
def test_folders_of_grades_and_diseases_are_labels(tmp_path, names):
    for name in names:
        for number in range(2):
            write_example(tmp_path / f"raw/{name}/{number}.png", seed=number)
    source = load_source(new_source("mine", tmp_path / "raw", tmp_path / "sources"))
    assert set(source.card.fields["folder"].values) == set(names)


@pytest.mark.parametrize("names", [("patient1", "patient2"), ("benign", "malignant")])
def test_a_dicom_series_in_a_folder_of_any_name_is_one_case(tmp_path, names):
    for name in names:
        for number in range(3):
            write_example(tmp_path / f"raw/{name}/{number}.dcm", seed=number)
    source = load_source(new_source("mine", tmp_path / "raw", tmp_path / "sources"))
    entries = list(source.scan(tmp_path / "raw", "files"))
    assert sorted(len(case.images[0].paths) for case in entries) == [3, 3]


@pytest.mark.parametrize(
    ("part", "anatomy"), [("BRAIN", "Brain"), ("LUNG", "Lungs"), ("", "Chest")]
)
def test_the_region_is_that_of_the_headers(tmp_path, part, anatomy):
    pixels = np.zeros((8, 8), np.uint16)
    write_dicom(tmp_path / "raw/a/1.dcm", pixels, Modality="MR", BodyPartExamined=part)
    source = load_source(new_source("mine", tmp_path / "raw", tmp_path / "sources"))
    assert source.card.anatomy.value == anatomy


def test_the_table_of_a_partial_copy_is_read(tmp_path):
    rows = [
        "file,Grade",
        *(f"film{number}.png,{('mild', 'severe')[number % 2]}" for number in range(99)),
    ]
    for number in range(4):
        write_example(tmp_path / f"raw/film{number}.png", seed=number)
    write_lines(tmp_path / "raw/labels.csv", rows)
    source = load_source(new_source("part", tmp_path / "raw", tmp_path / "sources"))
    cases = [entry for entry in source.scan(tmp_path / "raw", "files") if isinstance(entry, Case)]
    assert [case.labels[0].value for case in cases] == ["mild", "severe", "mild", "severe"]


def test_a_column_of_numbers_that_repeat_names_no_picture(tmp_path):
    for number in range(4):
        write_example(tmp_path / f"raw/{number}.png", seed=number)
    rows = ["code,age", *(f"c{number},{number % 9}" for number in range(90))]
    write_lines(tmp_path / "raw/labels.csv", rows)
    (table,) = survey(tmp_path / "raw").tables
    assert table.key is None


@pytest.mark.parametrize("tree", ["table"])
def test_the_concepts_nearest_to_a_value_stand_beside_it(draft):
    card = (draft[0].folder / "card.toml").read_text(encoding="utf-8")
    line = next(line for line in card.splitlines() if line.startswith('"Effusion" = ""'))
    assert '# nearest concepts: "Effusion", "Pleural Effusion"' in line


def test_a_value_with_quotes_and_line_breaks_stays_one_value(tmp_path):
    rows = ['file,"a ""b"" \\c"']
    for number in range(4):
        write_example(tmp_path / f"raw/p{number}.png", seed=number)
        rows.append(f'p{number}.png,"x ""y""\n\\z"')
    write_lines(tmp_path / "raw/t.csv", rows)
    folder = new_source("odd", tmp_path / "raw", tmp_path)
    card = tomllib.loads((folder / "card.toml").read_text(encoding="utf-8"))
    assert list(card["field"][0]["values"]) == ['x "y"\n\\z']
    case = next(iter(load_source(folder).scan(tmp_path / "raw", "files")))
    assert case.labels[0].value == 'x "y"\n\\z'


def test_nothing_is_left_behind_when_the_tree_holds_no_picture(tmp_path):
    write_lines(tmp_path / "raw/notes.txt", ["text"])
    with pytest.raises(SourceError, match=r"holds no image \(suffixes found: \.txt\)"):
        new_source("empty", tmp_path / "raw", tmp_path / "sources")
    assert not (tmp_path / "sources").exists()


def test_an_existing_source_is_not_written_over(tmp_path):
    _volumes(tmp_path / "raw")
    folder = new_source("mine", tmp_path / "raw", tmp_path)
    (folder / "card.toml").write_text("edited")
    with pytest.raises(MedrcubeError, match="already exists"):
        new_source("mine", tmp_path / "raw", tmp_path)
    assert (folder / "card.toml").read_text() == "edited"


@pytest.mark.parametrize("name", ["My Source", "9lives", "a_b", "../x"])
def test_an_id_that_makes_no_folder_name_is_refused(tmp_path, name):
    with pytest.raises(MedrcubeError, match="cannot be the id"):
        new_source(name, tmp_path, tmp_path)


def test_a_survey_says_what_of_the_raw_tree_it_cannot_read(tmp_path):
    write_example(tmp_path / "a.png", seed=1)
    (tmp_path / "b.png").write_bytes(b"rubbish")
    nibabel.save(nibabel.Nifti1Image(np.zeros((2, 3, 4), np.int16), np.eye(4)), tmp_path / "c.nii")
    contents = survey(tmp_path)
    assert contents.globs == {"*.nii": 1, "*.png": 2}
    assert contents.suffixes == {".nii": 1, ".png": 2}
    assert any("cannot be read" in note for note in contents.notes)


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_what_a_link_leads_to_outside_the_tree_enters_no_draft(tmp_path, linked):
    outside = tmp_path / "outside"
    rows = [f"f{number}.png,{('secret', 'hidden')[number % 2]}" for number in range(6)]
    write_lines(outside / "ward.csv", ["file,grade", *rows])
    tree = tmp_path / "tree"
    for number in range(6):
        write_example(tree / f"films/f{number}.png", seed=number)
    place = tree / ("ward.csv" if linked == "file" else "notes")
    place.symlink_to(outside / "ward.csv" if linked == "file" else outside)
    (tree / "inner.png").symlink_to(tree / "films/f0.png")
    contents = survey(tree)
    folder = new_source("linked", tree, tmp_path / "sources")
    draft = "".join(file.read_text(encoding="utf-8") for file in folder.iterdir())
    assert "inner.png" in contents.pictures
    assert contents.tables == ()
    assert not {word for word in ("secret", "hidden", "ward", "grade") if word in draft}


def _draft_cases(tmp_path, name="mine"):
    source = load_source(new_source(name, tmp_path / "raw", tmp_path / "sources"))
    entries = list(source.scan(tmp_path / "raw", "files"))
    cases = [entry for entry in entries if isinstance(entry, Case)]
    return source, cases, [entry for entry in entries if isinstance(entry, Skip)]


def test_the_table_of_one_folder_names_no_image_of_another_with_the_same_names(tmp_path):
    rows = ["filename,mm", *(f"{number:03}_HC.png,{number / 8}" for number in range(99))]
    write_lines(tmp_path / "raw/training_set_size.csv", rows)
    for folder, count in (("training_set", 4), ("test_set", 3)):
        for number in range(count):
            write_example(tmp_path / f"raw/{folder}/{number:03}_HC.png", seed=number)
    for number in range(2):
        mask = tmp_path / f"raw/derived_annotations/{number:03}_HC_Annotation.png"
        write_example_mask(mask, seed=number)
    source, cases, skips = _draft_cases(tmp_path)
    assert {case.images[0].paths[0].parent.name for case in cases} == {"training_set"}
    assert len(cases) == 4
    assert len([path for skip in skips for path in skip.paths]) == 5
    assert not source.card.fields  # folders of splits are no labels
    assert [check.failures for check in check_source(source) if check.failures] == []


@pytest.mark.parametrize("suffix", [".xlsx", ".xls"])
def test_a_spreadsheet_names_the_images_below_rows_of_titles(tmp_path, suffix):
    rows = [["Cases", None], ["Image_filename", "BIRADS"]]
    for number in range(4):
        write_example(tmp_path / f"raw/case{number}.png", seed=number)
    rows += [[f"case{number}.png", ("2", "4a")[number % 2]] for number in range(20)]
    write_spreadsheet(tmp_path / f"raw/clinical{suffix}", {"read me": [["x"]], "BrEaST": rows})
    source, cases, skips = _draft_cases(tmp_path)
    assert [case.labels[0].value for case in cases] == ["2", "4a", "2", "4a"]
    assert len(skips) == 16
    assert not [check.failures for check in check_source(source) if check.failures]


@pytest.mark.parametrize(
    "mask", ["a{}_Annotation.png", "a{}_mask_1.png", "GT/a{}.png", "hand_outlines/a{}.png"]
)
def test_files_named_or_kept_as_masks_are_no_images(tmp_path, mask):
    for number in range(2):
        write_example(tmp_path / f"raw/a{number}.png", seed=number)
        write_example_mask(tmp_path / f"raw/{mask.format(number)}", seed=number)
    contents = survey(tmp_path / "raw")
    assert contents.pictures == ("a0.png", "a1.png")
    assert len(contents.masks) == 2


def test_files_of_two_values_with_the_name_of_an_image_and_a_word_are_its_masks(tmp_path):
    for number in range(2):
        write_example(tmp_path / f"raw/case{number}.png", seed=number)
        write_example(tmp_path / f"raw/case{number}_left.png", seed=number + 5)
        for word in ("tumor", "other1", "other2"):
            write_example_mask(tmp_path / f"raw/case{number}_{word}.png", seed=number)
    _, cases, _ = _draft_cases(tmp_path)
    assert {len(case.regions) for case in cases if "left" not in case.key} == {3}
    assert len(cases) == 4


def test_a_table_that_names_folders_of_series_labels_each_series(tmp_path):
    for folder in ("COVID/P001", "COVID/P002", "Normal/normal001"):
        for number in range(2):
            write_example(tmp_path / f"raw/{folder}/{number}.dcm", seed=number)
    rows = ["n,Diagnosis,Folder/ID"]
    rows += [f"{number},{('COVID', 'CAP')[number % 2]},P{number + 1:03}" for number in range(30)]
    write_lines(tmp_path / "raw/Index.csv", rows)
    _, cases, _ = _draft_cases(tmp_path)
    assert [[label.value for label in case.labels] for case in cases] == [["COVID"], ["CAP"], []]
    assert {len(case.images[0].paths) for case in cases} == {2}


def test_images_that_one_table_names_without_suffix_may_have_several(tmp_path):
    rows = ["image,grade"]
    for number, suffix in enumerate((".png", ".jpg", ".png", ".jpg")):
        write_example(tmp_path / f"raw/1.2.{number}{suffix}", seed=number)
        rows.append(f"1.2.{number},{('mild', 'severe')[number % 2]}")
    write_lines(tmp_path / "raw/t.csv", rows)
    _, cases, skips = _draft_cases(tmp_path)
    assert len(cases) == 4
    assert not skips


def test_a_draft_without_fields_passes_the_check(tmp_path):
    _series(tmp_path / "raw")
    source, *_ = _draft_cases(tmp_path)
    assert not [check.failures for check in check_source(source) if check.failures]


def test_a_table_that_names_folders_of_images_is_left_to_the_person(tmp_path):
    for number in range(1, 4):
        write_example(tmp_path / f"raw/dataset/00{number}/00{number}_ED.nii.gz", seed=number)
    write_lines(tmp_path / "raw/t.csv", ["code,age", "1,40", "2,50", "3,60", "4,70"])
    source, *_ = _draft_cases(tmp_path)
    card = (source.folder / "card.toml").read_text(encoding="utf-8")
    assert '"t.csv": 4 rows; "code" names the folder of images\n#     TODO: ' in card
    write_lines(tmp_path / "raw/t.csv", ["code,age", "17,40", "18,50", "19,60", "20,70"])
    other = new_source("other", tmp_path / "raw", tmp_path / "sources")
    card = (other / "card.toml").read_text(encoding="utf-8")
    assert '"t.csv": 4 rows; names no image\n#     TODO: ' in card


@pytest.mark.parametrize("suffix", [".nii.gz", ".png"])
def test_the_values_of_masks_are_shown_to_the_person(tmp_path, suffix):
    for number in range(2):
        write_example(tmp_path / f"raw/v{number}{suffix}", seed=number)
        write_example_mask(tmp_path / f"raw/v{number}_gt{suffix}", seed=number)
    source, *_ = _draft_cases(tmp_path)
    marked = {".png": 255, ".nii.gz": 1}[suffix]
    card = (source.folder / "card.toml").read_text(encoding="utf-8")
    assert f"#   masks hold 0, {marked}\n" in card


@pytest.mark.parametrize(
    ("signs", "order", "plane"),
    [((-1, -1, 1), (0, 1, 2), "axial"), ((1, 1, 1), (0, 2, 1), "coronal")],
)
def test_the_plane_of_slices_is_shown_to_the_person(tmp_path, signs, order, plane):
    affine = np.zeros((4, 4))
    affine[order, range(3)] = np.multiply(signs, (1, 1, 8))
    affine[3, 3] = 1
    (tmp_path / "raw").mkdir()
    volume = nibabel.Nifti1Image(np.zeros((9, 9, 4), np.int16), affine)
    nibabel.save(volume, tmp_path / "raw/v.nii.gz")
    folder = new_source("mine", tmp_path / "raw", tmp_path / "sources")
    assert f"int16, slices {plane}\n" in (folder / "card.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["films", "scans/P00{}"])
def test_no_row_of_its_table_ends_the_scan_of_a_draft(tmp_path, folder):
    series = folder.startswith("scans")
    rows = ["key,edema,grade"]
    for number in range(4):
        for part in range(1 + series):
            name = f"{folder.format(number)}/f{number}{part}.{'dcm' if series else 'png'}"
            write_example(tmp_path / "raw" / name, seed=part)
        key = f"P00{number}" if series else f"f{number}0"
        rows.append(f"{key},{number % 2},{('mild', 'severe')[number % 2]}")
    write_lines(tmp_path / "raw/t.csv", rows)
    source, cases, _ = _draft_cases(tmp_path)
    assert [len(case.labels) for case in cases] == [2] * 4
    source.build_fixture(tmp_path / "fixture", "files")
    assert not list(scans_ended_by_a_row(source, tmp_path / "fixture", "files"))


def test_a_tree_of_tables_alone_is_refused_with_what_to_add(tmp_path):
    write_lines(tmp_path / "raw/a.csv", ["seriesuid,x", "1.2,3"])
    with pytest.raises(SourceError, match=r"beside the tables \(1\).*Put a few images"):
        new_source("mine", tmp_path / "raw", tmp_path / "sources")
    write_lines(tmp_path / "raw/b.zip", ["x"])
    with pytest.raises(SourceError, match="unpack the archives first"):
        new_source("mine", tmp_path / "raw", tmp_path / "sources")


def test_measures_with_fractions_are_no_labels(tmp_path):
    rows = ["file,spacing"]
    for number in range(6):
        write_example(tmp_path / f"raw/f{number}.png", seed=number)
        rows.append(f"f{number}.png,{('0.139', '0.143')[number % 2]}")
    write_lines(tmp_path / "raw/t.csv", rows)
    source, *_ = _draft_cases(tmp_path)
    assert not source.card.fields


def test_the_id_of_another_source_is_refused_before_anything_is_written(tmp_path):
    write_example(tmp_path / "raw/a.png", seed=1)
    with pytest.raises(MedrcubeError, match=r"the id 'hc18' is already taken by .*choose another"):
        new("hc18", tmp_path / "raw", tmp_path / "sources")
    assert not (tmp_path / "sources").exists()


def test_volumes_in_nrrd_are_drafted_read_and_checked(tmp_path):
    for number in range(2):
        write_example(tmp_path / f"raw/v{number}.nrrd", seed=number)
        write_example_mask(tmp_path / f"raw/v{number}_seg.nrrd", seed=number)
    source, cases, _ = _draft_cases(tmp_path)
    assert [len(case.regions) for case in cases] == [1, 1]
    assert not [check.failures for check in check_source(source) if check.failures]


@pytest.mark.parametrize(("name", "modality"), [("ct", "CT"), ("head_CT", "CT"), ("act", "MRI")])
def test_volumes_called_ct_are_taken_for_ct(tmp_path, name, modality):
    for number in range(2):
        write_example(tmp_path / f"raw/s{number:04}/{name}.nii.gz", seed=number)
    folder = new_source("mine", tmp_path / "raw", tmp_path / "sources")
    assert f'modality = "{modality}"' in (folder / "card.toml").read_text()


@pytest.mark.parametrize("table", [False, True])
def test_each_value_of_masks_with_several_becomes_a_region_and_a_value_of_the_card(tmp_path, table):
    for number in range(4):
        write_example(tmp_path / f"raw/v{number}.nii.gz", seed=number)
        labels = np.arange(6 * 8 * 8).reshape(6, 8, 8) % 4
        write_nifti(tmp_path / f"raw/v{number}_gt.nii.gz", labels.astype(np.uint8), spacing=(1, 1))
    if table:
        write_lines(
            tmp_path / "raw/grades.csv", ["file,mm", *(f"v{n}.nii.gz,{n}" for n in range(4))]
        )
    source, cases, _ = _draft_cases(tmp_path)
    assert list(dict(source.card.fields["mask"].values)) == ["1", "2", "3"]
    for case in cases:
        assert [region.value for region in case.regions] == ["1", "2", "3"]
