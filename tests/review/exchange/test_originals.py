"""Original pixels of an import: gold items have them too, damage is told, and nothing leaves."""

import json
from dataclasses import replace
from hashlib import sha256

import pyarrow.parquet as pq
import pytest
from stage.drawings import deep, numbered

from medrcube.build.release.editions.hugging_face_private import write_private_hub
from medrcube.build.release.write import release
from medrcube.build.viewer.case_copies import plane_path
from medrcube.build.viewer.table import TABLE
from medrcube.cli.review.items import _show_import
from medrcube.console.progress import Reporter
from medrcube.review.exchange.export_decisions import export_decisions, write_verdicts
from medrcube.review.exchange.import_items import ImportReport
from medrcube.review.exchange.labelstudio import export_labelstudio_tasks
from medrcube.review.models import Item, ItemVersion
from medrcube.review.quality.defects import DefectiveCopy
from medrcube.review.quality.gold_items import copy_with_defect
from medrcube.sources._framework.contract import load_source

ITEM = "0123456789abcdef"


@pytest.fixture
def copied(bench, take_in):
    """A queue of two items whose pictures have viewer copies; gives the bench."""
    bench.add(ITEM)
    bench.add("other")
    write_copies(bench)
    take_in()
    return bench


@pytest.fixture
def judged(three, take_in, review):
    """A queue of three items with viewer copies, one restricted, all accepted; gives the bench."""
    three.samples["s-c"] = replace(three.samples["s-c"], redistribute=False)
    write_copies(three)
    take_in()
    assert all(version(name).picture.original for name in "abc")
    review()
    return three


def write_copies(bench, spoil=None):
    """A copy of each picture, as a build writes it; ``spoil`` changes the lines."""
    lines = []
    for number, sample in enumerate(bench.samples.values()):
        facts, files = deep(numbered(3, (12, 16 + number)), own=1)
        for digest, data in files.items():
            path = plane_path(bench.workspace.viewer, digest)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        row = {"sample": sample.id, "picture": sample.pixel_sha256, **facts}
        lines.append(json.dumps(row).encode() + b"\n")
    table = bench.workspace.viewer / TABLE
    table.write_bytes(b"".join(spoil(lines) if spoil else lines))


def version(item):
    return ItemVersion.objects.filter(item=item).order_by("-number").first()


def gold_of(name):
    """A gold item whose key is another one, as where a box is wrong."""
    old = version(name)
    trap = DefectiveCopy(
        defect="ROI_WRONG",
        options=old.options,
        key=1,
        provenance=old.provenance,
        warnings=[],
    )
    return copy_with_defect(old, trap, "system", old.created_at)


def test_a_gold_item_has_the_original_pixels_of_its_item(copied):
    gold_id = gold_of(ITEM)
    assert version(gold_id).picture.original == version(ITEM).picture.original != {}


def test_the_next_import_leaves_them_to_gold_items(copied, take_in):
    gold_id = gold_of(ITEM)
    before = version(ITEM).picture.original
    take_in()
    assert version(gold_id).picture.original == before


def test_a_gold_item_keeps_them_when_its_item_is_worded_anew(copied, take_in):
    gold_id = gold_of(ITEM)
    copied.change(ITEM, question="Which diagnosis fits this MRI image?")
    take_in()
    assert version(ITEM).number == 2
    assert version(gold_id).picture.original == version(ITEM).picture.original != {}


def test_a_gold_item_keeps_them_when_its_item_takes_no_new_wording(copied, take_in, review, states):
    gold_id = gold_of(ITEM)
    Item.objects.filter(pk=ITEM).update(state="rejected")
    copied.change(ITEM, question="Which diagnosis fits this MRI image?")
    take_in()
    assert version(ITEM).number == 1
    assert version(gold_id).picture.original != {}


def test_a_picture_that_was_built_otherwise_gets_no_other_pixels(copied, take_in):
    gold_id = gold_of(ITEM)
    before = version(gold_id).picture
    copied.picture("another")
    old = copied.samples.pop(f"s-{ITEM}")
    copied.picture(f"s-{ITEM}", case=old.case)
    write_copies(copied)
    take_in()
    assert version(ITEM).picture != before
    assert version(ITEM).picture.original != {}
    assert version(gold_id).picture.original == {}


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"\xff\xfe",
        b"[]",
        b"7",
        b"{}",
        b'{"sample": "s-a", "slices": ["../../etc/passwd"]}',
        b'{"sample": "s-a", "slices": ["' + b"0" * 64 + b'"]}',
        b"[" * 5000,
    ],
)
def test_a_damaged_row_of_copies_is_told_and_costs_its_picture_alone(bench, take_in, capsys, line):
    bench.add("a")
    bench.add("b")
    write_copies(bench, lambda lines: [line + b"\n", *lines[1:]])
    report = take_in()
    assert report.copies_damaged == 1
    assert [bool(version(name).picture.original) for name in "ab"] == [False, True]
    _show_import(report, Reporter())
    assert "1 row of viewer/copies.jsonl damaged" in capsys.readouterr().out


def test_a_sound_table_is_not_spoken_of(capsys):
    _show_import(ImportReport(), Reporter())
    assert "viewer" not in capsys.readouterr().out


def blobs(root):
    """All bytes below a folder: files, names, and the cells of tables, which lie compressed."""
    for path in root.rglob("*"):
        yield path.name.encode()
        if not path.is_file():
            continue
        yield path.read_bytes()
        if path.suffix == ".parquet":
            for column in pq.read_table(path).flatten().flatten().columns:
                for cell in column.to_pylist():
                    yield cell if isinstance(cell, bytes) else repr(cell).encode()


def assert_no_copy(root, bench):
    planes = [path.read_bytes() for path in bench.workspace.viewer.rglob("*.png")]
    names = [sha256(data).hexdigest().encode() for data in planes]
    assert planes
    count = 0
    for data in blobs(root):
        count += 1
        assert not any(plane in data for plane in planes)
        assert not any(name in data for name in names)
        assert b'"intercept"' not in data
    assert count > 2


def test_an_export_holds_no_viewer_copy(judged, tmp_path):
    for kind in ("csv", "jsonl"):
        export_decisions(tmp_path / "out" / kind, kind)
    assert_no_copy(tmp_path / "out", judged)


def test_a_task_for_label_studio_holds_no_viewer_copy(judged, tmp_path):
    export_labelstudio_tasks(tmp_path / "out")
    assert_no_copy(tmp_path / "out", judged)


@pytest.mark.few(1)
@pytest.mark.parametrize("private", [False, True])
def test_a_release_and_its_edition_for_the_hub_hold_no_viewer_copy(
    judged, toy_source, tmp_path, private
):
    write_verdicts(judged.workspace.root)
    out = tmp_path / "release"
    release(judged.workspace, {"toy": load_source(toy_source())}, out, name="v1", private=private)
    assert list(out.rglob("*.parquet"))
    assert_no_copy(out, judged)
    if private:
        write_private_hub(out, tmp_path / "hub")
        assert list((tmp_path / "hub").rglob("*.parquet"))
        assert_no_copy(tmp_path / "hub", judged)
