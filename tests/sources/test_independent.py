"""Second readings: trees and truths written from the evidence cards by someone else.

Each module of ``independent/`` holds ``write``, which makes a tiny raw tree, and ``EXPECTED``,
what a right reading of it says; ``VARIANTS`` holds further pairs of both. Nothing of them was
derived from an adapter or from its fixture. What a fact may hold:

present             concepts that some case of the image states
panel               what the image shows beside the others of every case that sets them side by side
never, never_single concepts that no case of the image (of it alone) states
absent, open        concepts that are absent with grade A or B; that are neither
constants           concepts that hold for every image of the tree
patient, split      words that are equal where the source's values must be
regions             concept, or ``*`` for any -> boxes in the displayed picture, and no others
some_regions        the same, among others
no_grounding        no box may be asked about
shows, frame        the displayed picture; first and last slice that may be shown
greys               how far grey values may be from those of ``shows``
companion           the slice that every case of this image shows, chosen on another image
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from medrcube.build import batch_outcome
from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.pixels.case_image import choose_case_slices, open_case_images
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.questions.item_table import items_from_frame
from medrcube.build.regions.draw_shapes import bounding_box
from medrcube.build.stages.plan import plan_jobs
from medrcube.build.stages.scan import scan
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.errors import SourceError
from medrcube.facts import Grade, LabelState
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

sys.path.insert(0, str(Path(__file__).parent))

HELPERS = {"paint", "dicoms", "sheets"}
MODULES = sorted(
    path.stem
    for path in (Path(__file__).parent / "independent").glob("*.py")
    if path.stem not in HELPERS
)


def _trees():
    for name in MODULES:
        module = import_module(f"independent.{name}")
        yield name, module.write, module.EXPECTED
        for variant, (write, expected) in getattr(module, "VARIANTS", {}).items():
            yield f"{name}:{variant}", write, expected


TREES = {name: (write, expected) for name, write, expected in _trees()}
SOURCES = find_sources()
TERMS = load_terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the adapter and the build made of a tree."""

    root: Path
    workspace: Path
    source: object
    error: str
    scan: object
    samples: pd.DataFrame
    items: tuple
    quarantine: pd.DataFrame

    def cases(self, file):
        """Every case that shows the file, or one of several joined by ``|``."""
        paths = {self.root / name for name in file.split("|")}
        return [
            case
            for case in self.scan.cases
            if any(paths & {*image.paths, *image.parts} for image in case.images)
        ]

    def alone(self, file):
        """The cases that show nothing else."""
        return [case for case in self.cases(file) if len(case.images) == 1]

    def panels(self, file):
        """What the file is said to show, by every case that has it beside others."""
        names = []
        for case in self.cases(file):
            if len(case.images) > 1:
                places = [
                    n for n, image in enumerate(case.images) if self.root / file in image.paths
                ]
                labels = [case.panels[n] for n in places if case.panels]
                names.append(_names(concept_of(self.source.card, label) for label in labels))
        return names

    def present(self, cases):
        grounds = [facts_of_case(self.source.card, case, TERMS) for case in cases]
        return _names(concept for ground in grounds for concept in ground.present)

    def absent(self, cases):
        """What is absent with grade A or B, and what a label says to be absent."""
        card = self.source.card
        grounds = [facts_of_case(card, case, TERMS) for case in cases]
        marks = [pair for ground in grounds for pair in ground.absent.items()]
        labels = [label for case in cases for label in case.labels]
        return _names(c for c, mark in marks if mark.grade <= Grade.B) | _names(
            concept_of(card, label) for label in labels if label.state is LabelState.ABSENT
        )

    def clean(self, case):
        rows = self.samples
        return rows[(rows["case"] == case.key) & (rows["artefact"] == "clean")]


def _names(concepts):
    """What concepts are called: several labels may mean the same."""
    return {TERMS[concept].name for concept in concepts if concept}


@pytest.fixture(scope="session")
def reading(tmp_path_factory):
    readings = {}

    def read(name):
        if name not in readings:
            readings[name] = _read(name, tmp_path_factory.mktemp("independent"))
        return readings[name]

    return read


def _read(name, folder):
    root = (folder / "raw").resolve()
    root.mkdir()
    TREES[name][0](root)
    source = SOURCES[name.split(":")[0].replace("_", "-")]
    workspace = WorkspaceFolder(
        root=folder / "workspace",
        settings=BuildSettings(items_per_cell=0, quarantine_gate=1.0, viewer=False),
        sources={source.id: root},
    )
    (workspace.root / "cache").mkdir(parents=True)
    (workspace.root / "cache" / "patient.key").write_bytes(b"k" * 32)
    error, value, samples, items = "", None, pd.DataFrame(), ()
    quarantine = pd.DataFrame(columns=["case", "stage", "code", "message"])
    try:
        with pytest.MonkeyPatch.context() as patch:  # no test here reads the audit
            patch.setattr(batch_outcome, "audit_batch", lambda *_: {"failures": []})
            build(workspace, {source.id: source}, LocalEngine(1), Reporter(quiet=True))
    except SourceError as refused:
        error = str(refused)
    else:
        value = scan(source, root, b"k" * 32)
        samples = pd.read_parquet(workspace.samples)
        items = tuple(items_from_frame(pd.read_parquet(workspace.items)))
        quarantine = pd.read_parquet(workspace.quarantine)
    return Reading(
        root=root,
        workspace=workspace.root,
        source=source,
        error=error,
        scan=value,
        samples=samples,
        items=items,
        quarantine=quarantine,
    )


def _each(aspect):
    """One test for every image of which the evidence card demands this."""
    return [
        pytest.param(name, file, id=f"{name}-{file.split('|')[0]}{'...' * ('|' in file)}")
        for name, (_, expected) in TREES.items()
        for file, fact in expected["cases"].items()
        if any(fact.get(part) for part in aspect.split())
    ]


def _all(aspect):
    return [name for name, (_, expected) in TREES.items() if expected.get(aspect)]


def _expected(name, file):
    return TREES[name][1]["cases"][file]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", [n for n in TREES if "refused_or" not in TREES[n][1]])
def test_the_tree_of_the_card_is_recognised_and_built(name, reading):
    assert reading(name).error == ""


@pytest.mark.parametrize("name", _all("refused_or"))
def test_what_the_card_does_not_know_stops_the_build_or_gives_no_picture(name, reading):
    result = reading(name)
    files = TREES[name][1]["refused_or"]["no_picture"]
    clean_files = (
        [] if result.error else [f for f in files for c in result.cases(f) if len(result.clean(c))]
    )
    assert clean_files == []


@pytest.mark.parametrize(("name", "file"), _each("present"))
def test_what_is_true_is_stated(name, file, reading):
    result, fact = reading(name), _expected(name, file)
    assert result.cases(file), "no case shows this image"
    assert _names(fact.get("present", ())) - result.present(result.cases(file)) == set()


@pytest.mark.parametrize(("name", "file"), _each("panel"))
def test_what_one_of_several_images_shows_is_stated_of_it_alone(name, file, reading):
    panels = reading(name).panels(file)
    assert panels
    assert all(names == _names(_expected(name, file)["panel"]) for names in panels)


@pytest.mark.parametrize(("name", "file"), _each("never never_single"))
def test_what_is_not_true_is_never_stated(name, file, reading):
    result, fact = reading(name), _expected(name, file)
    assert _names(fact.get("never", ())) & result.present(result.cases(file)) == set()
    assert _names(fact.get("never_single", ())) & result.present(result.alone(file)) == set()


@pytest.mark.parametrize(("name", "file"), _each("absent"))
def test_what_was_read_as_absent_is_absent(name, file, reading):
    result = reading(name)
    assert result.cases(file), "no case shows this image"
    assert _names(_expected(name, file)["absent"]) - result.absent(result.cases(file)) == set()


@pytest.mark.parametrize(("name", "file"), _each("open"))
def test_what_nobody_knows_is_neither_present_nor_absent(name, file, reading):
    result = reading(name)
    cases = result.cases(file)
    assert cases, "no case shows this image"
    absent = result.absent(cases) | result.present(cases)
    assert _names(_expected(name, file)["open"]) & absent == set()


@pytest.mark.parametrize("name", _all("constants"))
def test_what_holds_for_the_whole_dataset_is_stated(name, reading):
    result, expected = reading(name), TREES[name][1]
    for case in result.scan.cases:
        assert _names(expected["constants"]) - result.present([case]) == set()


@pytest.mark.parametrize("name", TREES)
def test_patients_are_told_apart_as_the_source_does(name, reading):
    result = reading(name)
    pairs = [
        (fact["patient"], case.patient or f"none:{case.key}")
        for file, fact in TREES[name][1]["cases"].items()
        if fact.get("patient")
        for case in result.cases(file)
    ]
    assert _one_to_one(pairs) == []


@pytest.mark.parametrize("name", TREES)
def test_no_patient_lies_in_two_splits(name, reading):
    cases = reading(name).scan.cases if reading(name).scan else ()
    pairs = {(case.patient, case.split) for case in cases if case.patient and case.split}
    patients = [patient for patient, _ in pairs]
    assert [patient for patient in patients if patients.count(patient) > 1] == []


@pytest.mark.parametrize("name", TREES)
def test_splits_are_those_of_the_source(name, reading):
    result = reading(name)
    pairs = [
        (fact["split"], case.split or "none")
        for file, fact in TREES[name][1]["cases"].items()
        if fact.get("split")
        for case in result.cases(file)
    ]
    assert _one_to_one(pairs) == []


def _one_to_one(pairs):
    """Pairs that stop the first words from naming the same groups as the second."""
    pairs = sorted(set(pairs))
    firsts, seconds = zip(*pairs, strict=True) if pairs else ((), ())
    return [p for p in pairs if firsts.count(p[0]) > 1 or seconds.count(p[1]) > 1]


@pytest.mark.parametrize(("name", "file"), _each("redistribute"))
def test_a_free_image_may_be_passed_on(name, file, reading):
    result = reading(name)
    card = result.source.card.access.redistribute
    cases = result.cases(file)
    assert [c.redistribute if c.redistribute is not None else card for c in cases] == [True] * len(
        cases
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [
        pytest.param(name, file, id=f"{name}-{file.split('|')[0]}{'...' * ('|' in file)}")
        for name, (_, expected) in TREES.items()
        for file, fact in expected["cases"].items()
        if fact.get("redistribute") is False
    ],
)
def test_an_image_without_a_free_licence_is_not_passed_on(name, file, reading):
    result = reading(name)
    card = result.source.card.access.redistribute
    for case in result.cases(file):
        assert (case.redistribute if case.redistribute is not None else card) is False


def _masks(result, case):
    """Boxes of the regions on the slice that is shown, by concept, and the picture's size."""
    (job,) = plan_jobs(result.source, result.root, [case])
    tiles = open_case_images(job)
    choice = choose_case_slices(job, tiles)[0]
    boxes = {}
    for number, mask in tiles[0].masks_on(choice.index).items():
        boxes.setdefault(job.concepts[number], []).append(bounding_box(mask))
    return boxes, tiles[0].picture(choice.index).shape


@pytest.mark.parametrize(
    ("name", "file"),
    [
        pytest.param(name, file, id=f"{name}-{file.split('|')[0]}{'...' * ('|' in file)}")
        for name, (_, expected) in TREES.items()
        for file, fact in expected["cases"].items()
        if {"regions", "some_regions"} & set(fact)
    ],
)
def test_regions_lie_where_they_belong(name, file, reading):
    result, fact = reading(name), _expected(name, file)
    assert result.alone(file), "no case shows this image alone"
    values, scale = {}, 1.0
    for case in result.alone(file):
        boxes, shape = _masks(result, case)
        scale = shape[1] / np.shape(fact["shows"])[1]
        for concept, these in boxes.items():
            key = "*" if "*" in fact.get("regions", ()) else concept
            values.setdefault(key, []).extend(these)
    expected_boxes = fact["regions"] if "regions" in fact else fact["some_regions"]
    if "some_regions" in fact:
        values = {concept: boxes for concept, boxes in values.items() if concept in expected_boxes}
    assert {k: len(v) for k, v in values.items()} == {k: len(v) for k, v in expected_boxes.items()}
    for concept, boxes in expected_boxes.items():
        actual = np.array(sorted(values[concept])) / scale
        np.testing.assert_allclose(actual, sorted(boxes), atol=fact.get("tolerance", 1), rtol=0)


@pytest.mark.parametrize(("name", "file"), _each("no_grounding"))
def test_unsure_contours_are_no_truth_for_boxes(name, file, reading):
    result = reading(name)
    keys = {case.key for case in result.cases(file)}
    rows = result.samples[result.samples["case"].isin(keys)]
    tasks = [i.task for i in result.items if i.sample in set(rows["id"]) and "ROI" in i.task]
    assert tasks == []


@pytest.mark.parametrize(("name", "file"), _each("frame"))
def test_a_good_slice_is_shown(name, file, reading):
    result = reading(name)
    first, last = _expected(name, file)["frame"]
    for case in result.alone(file):
        for frame in result.clean(case)["frames"]:
            assert first <= int(frame) <= last


@pytest.mark.parametrize(("name", "file"), _each("companion"))
def test_the_companion_shows_the_slice_that_was_chosen_at_end_diastole(name, file, reading):
    result = reading(name)
    slice_id = str(_expected(name, file)["companion"])
    frame_sets = [f for case in result.cases(file) for f in result.clean(case)["frames"]]
    assert {frame for frames in frame_sets for frame in frames.split("+")} == {slice_id}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        pytest.param(name, file, id=f"{name}-{file.split('|')[0]}{'...' * ('|' in file)}")
        for name, (_, expected) in TREES.items()
        for file, fact in expected["cases"].items()
        if "shows" in fact
    ],
)
def test_the_picture_shows_the_body_as_it_should(name, file, reading):
    result, fact = reading(name), _expected(name, file)
    assert result.cases(file), "no case shows this image"
    for case in result.alone(file):
        rows = result.clean(case)
        assert len(rows) == 1
        row = rows.iloc[0]
        model = fact["shows"]
        if fact.get("shows_by_frame"):
            model = fact["shows_by_frame"][int(row["frames"])]
        picture = np.asarray(Image.open(result.workspace / row["image"]).convert("L"))
        height, width = model.shape
        assert picture.shape[1] / picture.shape[0] == pytest.approx(width / height, rel=0.02)
        likeness = {turn: _likeness(picture, turned) for turn, turned in _turns(model)}
        assert max(likeness, key=likeness.get) == "upright"
        assert likeness["upright"] > 0.95
        if "greys" in fact:
            assert np.abs(picture - model).max() <= fact["greys"]


def _turns(picture):
    yield "upright", picture
    yield "mirrored", picture[:, ::-1]
    yield "upside down", picture[::-1]
    yield "half turn", picture[::-1, ::-1]
    yield "transposed", picture.T
    yield "quarter turn", np.rot90(picture)
    yield "three quarter turn", np.rot90(picture, 3)
    yield "other diagonal", picture[::-1, ::-1].T
    yield "inverted", -picture


def _likeness(picture, expected):
    size = (picture.shape[1], picture.shape[0])
    resized = Image.fromarray(expected.astype(np.float32)).resize(size, Image.Resampling.BILINEAR)
    return float(np.corrcoef(picture.ravel(), np.asarray(resized).ravel())[0, 1])


@pytest.mark.parametrize("name", _all("never"))
def test_what_is_no_picture_of_the_dataset_becomes_no_case(name, reading):
    result = reading(name)
    assert result.error == ""
    assert [file for file in TREES[name][1]["never"] if result.cases(file)] == []


@pytest.mark.parametrize("name", _all("no_picture"))
def test_a_broken_file_gives_no_picture_and_is_named(name, reading):
    result = reading(name)
    for file in TREES[name][1]["no_picture"]:
        assert [c.key for c in result.cases(file) if len(result.clean(c))] == []
        assert _is_named(result, file)


@pytest.mark.parametrize("name", _all("reported"))
def test_what_is_left_out_is_named_in_the_quarantine(name, reading):
    result = reading(name)
    assert [file for file in TREES[name][1]["reported"] if not _is_named(result, file)] == []


def _is_named(result, file):
    """Whether a row has the name of a file, or its folder, number and suffix beside a shape."""
    path = result.root / file
    stem = path.name.split(".")[0].lower()
    beside = sorted(other.name for other in path.parent.glob(f"*{path.suffix}"))
    number = beside.index(path.name) + 1 if path.name in beside else 0  # 0: a case, no file
    place = f", no. {number:,} of {len(beside):,}){path.suffix}"
    return any(
        stem in f"{case} {text}".lower()
        or (case.startswith(f"{file.rpartition('/')[0]}/(like ") and case.endswith(place))
        for case, text in zip(result.quarantine["case"], result.quarantine["message"], strict=True)
    )


@pytest.mark.parametrize("name", _all("undiagnosed"))
def test_an_unsure_label_is_no_diagnosis(name, reading):
    result = reading(name)
    for file, diagnoses in TREES[name][1]["undiagnosed"].items():
        assert result.present(result.cases(file)) & _names(diagnoses) == set()


@pytest.mark.parametrize("name", _all("unlabelled"))
def test_an_image_that_nobody_read_states_no_absence(name, reading):
    result = reading(name)
    for file in TREES[name][1]["unlabelled"]:
        assert result.absent(result.cases(file)) == set()


@pytest.mark.parametrize("name", _all("never_asked"))
def test_what_is_no_answer_stands_in_no_item(name, reading):
    result = reading(name)
    offered = _names(option.concept for item in result.items for option in item.options)
    assert offered & _names(TREES[name][1]["never_asked"]) == set()


@pytest.mark.parametrize("name", _all("pairs_only"))
def test_what_one_frame_cannot_show_is_asked_of_pairs_only(name, reading):
    result = reading(name)
    words = set(TREES[name][1]["pairs_only"])
    frames = dict(zip(result.samples["id"], result.samples["frames"], strict=True))
    items = [item for item in result.items if item.concept in words]
    assert [item.id for item in items if "+" not in frames[item.sample]] == []


@pytest.mark.parametrize("name", _all("no_boxes"))
def test_a_mask_of_another_size_gives_no_box(name, reading):
    result = reading(name)
    keys = {case.key for file in TREES[name][1]["no_boxes"] for case in result.cases(file)}
    rows = result.samples[result.samples["case"].isin(keys)]
    assert set(rows["artefact"]) <= {"clean"}


@pytest.mark.parametrize("name", _all("muscles"))
def test_an_open_line_is_closed_over_the_corner_of_its_side(name, reading):
    result = reading(name)
    for file, expected in TREES[name][1]["muscles"].items():
        (case,) = result.alone(file)
        boxes = [box for these in _masks(result, case)[0].values() for box in these]
        assert any(np.abs(np.subtract(box, expected)).max() <= 2 for box in boxes)
