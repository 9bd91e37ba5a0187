"""What a draft tells the person who goes on with it."""

import tomllib
import zlib

import numpy as np
import pytest

from medrcube.build.source_checks.source_check import check_source
from medrcube.facts import Case
from medrcube.sources._framework.contract import load_source
from medrcube.sources._framework.raw_tree.survey import survey
from medrcube.sources._framework.scaffold import new_source
from medrcube.sources._synthetic.any_format import write_example, write_example_mask
from medrcube.sources._synthetic.images import write_dicom, write_lines


def _draft(tmp_path):
    folder = new_source("mine", tmp_path / "raw", tmp_path / "sources")
    return folder, (folder / "card.toml").read_text(encoding="utf-8")


def _slices(tmp_path, rows):
    for patient in (49, 50):
        for window in ("bone", "brain"):
            for number in (8, 9, 10):
                name = f"Patients_CT/{patient:03}/{window}/{number}.jpg"
                write_example(tmp_path / "raw" / name, seed=number)
    write_lines(tmp_path / "raw/t.csv", ["PatientNumber,SliceNumber,Epidural", *rows])
    (table,) = survey(tmp_path / "raw").tables
    return table


def test_two_columns_that_name_folder_and_file_of_an_image_are_told(tmp_path):
    rows = [f"{patient},{number},0" for patient in range(49, 60) for number in range(1, 12)]
    assert _slices(tmp_path, rows).pair == ("PatientNumber", "SliceNumber")
    _, card = _draft(tmp_path)
    assert '"PatientNumber" and "SliceNumber" together name the folder and the file' in card
    assert "names no image" not in card


@pytest.mark.parametrize(
    "rows",
    [
        [f"{patient},{number},0" for patient in range(149, 160) for number in range(1, 12)],
        [f"{patient},1,0" for patient in range(49, 51) for _ in range(8)],
    ],
)
def test_columns_whose_pairs_name_no_image_are_not_taken_for_its_name(tmp_path, rows):
    assert _slices(tmp_path, rows).pair is None


def test_a_column_of_numbers_is_told_as_a_measure_without_its_values(tmp_path):
    rows = ["file,circumference,number"]
    for number in range(4):
        write_example(tmp_path / f"raw/f{number}.png", seed=number)
        rows.append(f"f{number}.png,4{number}.5,770{number}")
    write_lines(tmp_path / "raw/t.csv", rows)
    _, card = _draft(tmp_path)
    assert '"circumference": numbers; if they measure the image' in card
    assert '#     "number"\n' in card
    assert "41.5" not in card


def test_patterns_of_masks_stand_in_the_card(tmp_path):
    for number in range(2):
        write_example(tmp_path / f"raw/s/{number}_HC.png", seed=number)
        write_example_mask(tmp_path / f"raw/s/{number}_HC_Annotation.png", seed=number)
    folder, card = _draft(tmp_path)
    assert set(tomllib.loads(card)["patterns"]) == {"mask", "mask_folder"}
    assert "re.compile" not in (folder / "adapter.py").read_text(encoding="utf-8")
    source = load_source(folder)
    cases = [case for case in source.scan(tmp_path / "raw", "files") if isinstance(case, Case)]
    assert [case.regions[0].evidence for case in cases] == [
        "0_HC_Annotation.png",
        "1_HC_Annotation.png",
    ]
    assert not [check.failures for check in check_source(source) if check.failures]


def test_why_a_mask_has_no_image_is_told(tmp_path):
    for number in range(2):
        for split in ("train", "test"):
            write_example(tmp_path / f"raw/{split}/{number}_HC.png", seed=number)
        write_example_mask(tmp_path / f"raw/masks/{number}_HC_mask.png", seed=number)
    folder, _ = _draft(tmp_path)
    adapter = (folder / "adapter.py").read_text(encoding="utf-8")
    assert "several images are named as masks/0_HC_mask.png: test/0_HC.png, train/0_HC.png" in (
        adapter
    )


def _dicom(path, description, patient):
    write_dicom(
        path,
        np.zeros((8, 8), np.uint16),
        Modality="MR",
        SeriesDescription=description,
        PatientID=patient,
        SeriesInstanceUID=f"1.2.{zlib.crc32(path.parent.as_posix().encode())}",
    )


def test_descriptions_of_series_are_told_where_patients_share_them(tmp_path):
    for patient in ("p1", "p2"):
        for description in ("T1post", f"scan of {patient}"):
            for number in range(2):
                name = f"raw/{patient}/{description.replace(' ', '_')}/{number}.dcm"
                _dicom(tmp_path / name, description, patient)
    folder, card = _draft(tmp_path)
    assert '#   SeriesDescription in several patients: "T1post"\n' in card
    assert "scan of" not in card
    assert "SeriesDescription" in (folder / "adapter.py").read_text(encoding="utf-8")


def test_an_element_of_xml_that_names_images_is_told_without_its_text(tmp_path):
    for number in range(2):
        write_example(tmp_path / f"raw/png/CXR{number}_IM-7.png", seed=number)
        write_lines(
            tmp_path / f"raw/xml/{number}.xml",
            [
                "<report><who>Jane Doe</who><codes><major>normal</major></codes>",
                f'<parentImage id="CXR{number}_IM-7"/></report>',
            ],
        )
    _, card = _draft(tmp_path)
    assert "#     report/parentImage/@id names an image\n#     report/codes/major\n" in card
    assert "#     TODO: this draft does not read them" in card
    assert "Jane" not in card


def test_annotations_in_json_of_coco_are_told_with_their_reader(tmp_path):
    write_example(tmp_path / "raw/a.png", seed=1)
    write_lines(tmp_path / "raw/a.json", ['{"images": [], "annotations": [], "categories": []}'])
    write_lines(tmp_path / "raw/b.json", ['{"Doe": 1}'])
    _, card = _draft(tmp_path)
    assert '#   "a.json": COCO, read by sources/_formats/annotations/coco.py\n' in card
    assert (
        '#   1 other files with ".json": read_json of sources/_formats/tables/contents.py' in card
    )
    assert "Doe" not in card


def test_slices_of_two_series_may_differ_and_lie_in_one_plane(tmp_path):
    import pydicom  # noqa: PLC0415

    for seed in (1, 2):
        write_example(tmp_path / f"{seed}/1.dcm", seed=seed, place=7)
    first, second = (pydicom.dcmread(tmp_path / f"{seed}/1.dcm") for seed in (1, 2))
    assert first.ImagePositionPatient == second.ImagePositionPatient == [0, 0, 21]
    assert (first.pixel_array != second.pixel_array).any()


def test_arrays_of_numbers_are_told_with_their_shape_and_reader(tmp_path):
    write_example(tmp_path / "raw/a.png", seed=1)
    np.save(tmp_path / "raw/labels.npy", np.full((5, 3), 7.5))
    np.save(tmp_path / "raw/objects.npy", np.array([{"Doe": 1}]), allow_pickle=True)
    _, card = _draft(tmp_path)
    reader = "sources/_formats/tables/arrays.py"
    assert f'#   "labels.npy": array of 5 x 3 float64, read by {reader}\n' in card
    assert "objects" not in card
    assert "Doe" not in card


def test_the_mask_of_a_dicom_slice_lies_where_the_slice_does(tmp_path):
    import pydicom  # noqa: PLC0415

    write_example(tmp_path / "a/1.dcm", seed=1)
    write_example_mask(tmp_path / "m/1.dcm", seed=1)
    image, mask = (pydicom.dcmread(tmp_path / name) for name in ("a/1.dcm", "m/1.dcm"))
    assert image.ImagePositionPatient == mask.ImagePositionPatient
    assert image.pixel_array.shape == mask.pixel_array.shape
    assert set(mask.pixel_array.flat) == {0, 1}
