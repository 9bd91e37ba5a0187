"""Traps of the evidence card `echonet-dynamic`."""

import csv
import shutil

import av
import numpy as np
import pytest

from medrcube.errors import SourceError
from medrcube.facts import LabelState, Scope
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import picture
from medrcube.sources.registry import find_sources

UNTESTED = {
    "mirrored-videos": "unverified and not listed, noted as a quirk",
    "probe-marker-and-depth-bar": "a property of the real frames",
    "frames-enlarged-four-times": "advice on display; no policy of the card enlarges a picture",
    "test-split-first": "advice on sampling",
    "sample-gifs-of-the-website": "their ids are not on the card",
    "seven-parts-of-ten-are-normal": "the quota of a release balances answers",
}
SOURCE, LAYOUT = "echonet-dynamic", "videos"
CARD = find_sources()[SOURCE].card
TOP = "EchoNet-Dynamic"
ONE = "0X1A"


def _rows(root, table):
    with (root / TOP / table).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _write(root, table, rows):
    with (root / TOP / table).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def _set(**cells):
    """An edit that changes cells of the first video in FileList.csv."""

    def edit(root):
        header, *rows = _rows(root, "FileList.csv")
        for name, cell in cells.items():
            rows[0][header.index(name)] = cell
        _write(root, "FileList.csv", [header, *rows])

    return edit


def _trace(change):
    """An edit that puts ``change(rows)`` in place of the tracing of the first video."""

    def edit(root):
        header, *rows = _rows(root, "VolumeTracings.csv")
        mine = [row for row in rows if row[0] == f"{ONE}.avi"]
        others = [row for row in rows if row[0] != f"{ONE}.avi"]
        _write(root, "VolumeTracings.csv", [header, *change(mine), *others])

    return edit


def _scaled(factor):
    def change(rows):
        centre = [68, 50, 68, 50]
        return [
            [
                name,
                *(
                    f"{c + factor * (float(value) - c):.3f}"
                    for value, c in zip(places, centre, strict=True)
                ),
                frame,
            ]
            for name, *places, frame in rows
        ]

    return change


def _colour_noise(root):
    grey = picture(112, 112, seed=1).astype(np.int16)
    noise = np.random.default_rng(1).integers(-2, 3, (112, 112, 3))
    pixels = np.clip(grey[..., None] + noise, 0, 255).astype(np.uint8)
    with av.open(str(root / TOP / f"Videos/{ONE}.avi"), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width = stream.height = 112
        stream.pix_fmt = "bgr0"
        for _ in range(6):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))


def test_table_lacks_the_suffix_that_the_tracings_have(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[f"{ONE}-ED"]
    assert case.images[0].paths[0].name == f"{ONE}.avi"
    assert case.regions


def test_outer_folders_of_a_copy_do_not_matter(edited_tree, scan_tree):
    def nest(root):
        (root / "echonetdynamic-2").mkdir()
        shutil.move(root / TOP, root / "echonetdynamic-2" / TOP)

    assert f"{ONE}-ED" in scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, nest)).cases


def test_copy_that_was_compressed_again_fits_no_layout(edited_tree):
    def convert(root):
        for path in (root / TOP / "Videos").iterdir():
            path.rename(path.with_suffix(".mp4"))

    assert not inspect_copy(CARD, edited_tree(SOURCE, LAYOUT, convert)).fits


@pytest.mark.parametrize("name", ["X1,FileName,Y1,X2,Y2,Frame", "FileName,X,Y,Frame,Calc"])
def test_tracings_of_a_sister_set_are_refused(edited_tree, scan_tree, name):
    def retitle(root):
        _write(
            root, "VolumeTracings.csv", [name.split(","), *_rows(root, "VolumeTracings.csv")[1:]]
        )

    with pytest.raises(SourceError):
        scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, retitle))


def test_names_of_any_length_and_case_are_kept_as_they_stand(edited_tree, scan_tree):
    def rename(root):
        for table in ("FileList.csv", "VolumeTracings.csv"):
            rows = _rows(root, table)
            _write(root, table, [[cell.replace(ONE, "0XABCDEF") for cell in row] for row in rows])
        (root / TOP / f"Videos/{ONE}.avi").rename(root / TOP / "Videos/0XABCDEF.avi")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))
    assert scan.cases["0XABCDEF-ED"].patient == "0XABCDEF"


def test_row_that_stands_twice_states_its_video_once(edited_tree, scan_fixture, scan_tree):
    def repeat(root):
        rows = _rows(root, "FileList.csv")
        _write(root, "FileList.csv", [*rows, rows[1]])

    again = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, repeat))
    assert again.cases.keys() == scan_fixture(SOURCE, LAYOUT).cases.keys()


def test_row_whose_video_is_missing_is_counted_as_absent(edited_tree, survey):
    def lose(root):
        (root / TOP / f"Videos/{ONE}.avi").unlink()

    assert survey(SOURCE, edited_tree(SOURCE, LAYOUT, lose)).absent.count(ONE) == 1


@pytest.mark.parametrize(("height", "width"), [("768", "1024"), ("768", "1040")])
def test_video_of_an_odd_size_is_set_aside(edited_tree, scan_tree, height, width):
    root = edited_tree(SOURCE, LAYOUT, _set(FrameHeight=height, FrameWidth=width))
    assert f"{width} x {height}" in scan_tree(SOURCE, LAYOUT, root).skips[ONE]


def test_video_without_tracing_is_set_aside(scan_fixture):
    assert "0 frames are traced" in scan_fixture(SOURCE, LAYOUT).skips["0X7A"]


def test_split_is_that_of_the_table(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    splits = [cases[f"{name}-ED"].split for name in ("0X1A", "0X2B", "0X3C")]
    assert splits == ["train", "val", "test"]


def test_larger_outline_is_diastole_whichever_frame_comes_first(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert [cases[f"{name}-ED"].images[0].frame for name in ("0X1A", "0X2B")] == [4, 1]


def test_larger_outline_is_diastole_whichever_row_comes_first(edited_tree, scan_tree):
    def swap(rows):
        return [row for frame in ("4", "1") for row in rows if row[-1] == frame]

    cases = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _trace(swap))).cases
    assert cases[f"{ONE}-ED"].images[0].frame == 4


def test_frames_are_counted_from_zero(build_fixture):
    """The cavity of the clip is largest on frame 4 of 6, and dark around (68, 50 + 22)."""
    build = build_fixture(SOURCE, LAYOUT)
    diastole = build.pixels(build.sample(f"{ONE}-ED")).astype(int)
    systole = build.pixels(build.sample(f"{ONE}-ES")).astype(int)
    assert abs(diastole[70:73, 66:71].mean() - diastole[45:55, 64:72].mean()) < 10
    assert abs(systole[74:76, 66:71].mean() - systole[45:55, 64:72].mean()) > 20


def test_frame_beyond_those_of_the_table_sets_its_video_aside(edited_tree, scan_tree):
    def later(rows):
        return [[*row[:-1], "6" if row[-1] == "4" else row[-1]] for row in rows]

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _trace(later)))
    assert scan.skips[ONE] == "frame 6 is traced, of 6 frames counted from 0"


@pytest.mark.parametrize("count", ["5", "7"])
def test_video_with_other_frames_than_the_table_states_is_no_picture(
    edited_tree, build_tree, count
):
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _set(NumberOfFrames=count)))
    codes = build.codes()
    assert {codes[f"{ONE}-{end}"] for end in ("ED", "ES", "ED-ES")} == {"frame-count"}


def _cut(*frames):
    """Without the last four chords of some frames."""

    def change(rows):
        rows_by_frame = {frame: [row for row in rows if row[-1] == frame] for frame in ("1", "4")}
        return [
            row for f, own in rows_by_frame.items() for row in (own[:-4] if f in frames else own)
        ]

    return change


@pytest.mark.parametrize(
    ("frames", "reason"),
    [(("1",), "chords are 16 of frame 1 and 20 of frame 4"), (("1", "4"), "before the long axis")],
    ids=["one", "both"],
)
def test_outlines_that_were_cut_short_cost_what_rests_on_them_alone(
    edited_tree, scan_tree, build_tree, frames, reason
):
    root = edited_tree(SOURCE, LAYOUT, _trace(_cut(*frames)))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert reason in scan.skips[f"{ONE} outlines"]
    mine = {key: case for key, case in scan.cases.items() if key.startswith(f"{ONE}-")}
    assert [case.images[0].frame for case in mine.values()] == [1, 4]
    assert not [
        label for case in mine.values() for label in (*case.labels, *case.panels, *case.regions)
    ]
    assert "View Recognition" in build_tree(SOURCE, root).tasks_of(f"{ONE}-4")


def test_long_axis_is_no_part_of_the_outline(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[f"{ONE}-ED"]
    (outline,) = case.regions[0].shape.outlines
    assert len(outline.points) == 40
    assert (68.0, 24.0) not in outline.points


def test_outline_goes_down_one_side_and_up_the_other(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    ellipse = np.pi * 26 * 13 / 112**2
    assert build.sample(f"{ONE}-ED", "outline").area == pytest.approx(ellipse, rel=0.1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_scaled(0.4), "less than 200 square pixels"),
        (_scaled(4), "leaves the picture"),
        (lambda rows: [*rows[:3], rows[10], *rows[4:10], rows[3], *rows[11:]], "crosses itself"),
        (lambda rows: [row for row in rows if row[-1] == "4"], "1 frames are traced"),
        (
            lambda rows: [[*row[:-1], f] for f in ("1", "4") for row in rows if row[-1] == "4"],
            "the phases cannot be distinguished",
        ),
    ],
    ids=["small", "outside", "self-crossing", "one-frame", "equal-areas"],
)
def test_tracing_that_cannot_be_true_is_set_aside(edited_tree, scan_tree, change, reason):
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _trace(change)))
    assert reason in scan.skips[ONE]


def test_chord_with_swapped_ends_is_set_aside(scan_fixture):
    assert "crosses itself" in scan_fixture(SOURCE, LAYOUT).skips["0X9C"]


def test_noise_of_the_codec_makes_no_colour_picture(edited_tree, build_tree):
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _colour_noise))
    assert build.pixels(build.sample(f"{ONE}-ED")).ndim == 2


def test_picture_is_not_turned(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(f"{ONE}-ED")).astype(int)
    assert pixels[10:13, 12:17].mean() > pixels[10:13, -17:-12].mean() + 50
    assert pixels[10:13, 12:17].mean() > pixels[-13:-10, 12:17].mean() + 50


def test_ejection_is_asked_of_both_phases_side_by_side_alone(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    samples = {sample.id: sample.case for sample in build.samples}
    answers = {
        samples[item.sample].endswith("-ED-ES")
        for item in build.items
        if item.task == "Severity Grading"
    }
    assert answers == {True}
    assert CARD.fields["ejection_fraction"].scope is Scope.PATIENT


@pytest.mark.few(2)
@pytest.mark.parametrize("ejection", ["28.0", "31.9", "38.5", "42.9", "52.1", "57.9", "70.0", "97"])
def test_fraction_near_the_edge_of_a_band_is_not_graded(edited_tree, build_tree, ejection):
    volumes = {"EDV": "100.0", "ESV": str(100 - float(ejection))}
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _set(EF=ejection, **volumes)))
    assert build.items_of(f"{ONE}-ED-ES", "Severity Grading") == []


def test_twin_of_both_phases_is_diastole_beside_its_neighbour_and_states_nothing(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    twin, alone = cases[f"{ONE}-ED-ED"], cases[f"{ONE}-ED"]
    assert twin.images[0] == alone.images[0]
    assert abs(twin.images[1].frame - alone.images[0].frame) == 1
    assert (twin.labels, twin.panels, twin.regions) == ((), (), ())


def test_fraction_of_the_table_goes_before_that_of_the_outlines(scan_fixture):
    labels = scan_fixture(SOURCE, LAYOUT).cases[f"{ONE}-ED-ES"].labels
    assert {label.value for label in labels} == {"62.1"}


def test_fraction_that_its_own_volumes_contradict_is_unknown_and_not_asked(
    scan_fixture, build_fixture
):
    """35 by the table, 61 by the volumes beside it."""
    labels = scan_fixture(SOURCE, LAYOUT).cases["0XAD-ED-ES"].labels
    assert [(label.value, label.state) for label in labels] == [("35", LabelState.UNKNOWN)]
    assert labels[0].evidence == "FileList.csv:8 EF=35.0 against EDV=82, ESV=32"
    build = build_fixture(SOURCE, LAYOUT)
    assert build.items_of("0XAD-ED-ES", "Severity Grading") == []
    assert build.right_of("0X3C-ED-ES", "Severity Grading") == {"LVEF 30-39"}


def test_outlines_of_nearly_one_size_tell_neither_phase_nor_fraction(edited_tree, build_tree):
    def alike(rows):
        large = [row for row in rows if row[-1] == "4"]
        return [*large, *([*row[:-1], "1"] for row in _scaled(0.99)(large))]

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _trace(alike)))
    fields = {item.field for item in build.items_of(f"{ONE}-ED-ES")}
    assert fields.isdisjoint({"phase", "ejection_fraction"})
    assert build.codes()[f"{ONE}-ED-ES"] == "panels-unsure"


def test_nothing_is_called_a_disease(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert "Disease Diagnosis" not in tasks


def test_only_the_left_ventricle_is_asked(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    marked = [i for i in build.items if i.task in {"Organ Recognition", "ROI Grounding"}]
    assert {item.concept for item in marked} == {"LV"}
    clean = {sample.id for sample in build.samples if sample.artefact == "clean"}
    assert clean.isdisjoint(item.sample for item in marked)


def test_nothing_made_of_the_videos_is_passed_on():
    assert CARD.access.redistribute is False


def test_name_that_no_video_of_the_dataset_has_sets_its_own_cases_aside(edited_tree, scan_tree):
    def rename(root):
        (root / TOP / "Videos" / f"{ONE}.avi").rename(root / TOP / "Videos" / "AB12.avi")
        for table in ("FileList.csv", "VolumeTracings.csv"):
            rows = _rows(root, table)
            _write(root, table, [[cell.replace(ONE, "AB12") for cell in row] for row in rows])

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))
    bad_keys = scan.bad_rows("AB12.avi, which is not a file name of this dataset")
    assert bad_keys == {"AB12"}
    assert scan.cases
