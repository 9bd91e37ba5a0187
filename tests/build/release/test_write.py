import hashlib
import json
import re
import shutil
from collections import Counter

import pandas as pd
import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.release.write import release
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.release_format.item_facts import read_item_facts
from medrcube.sources._framework.contract import load_source
from medrcube.taxonomy import Anatomy, Modality, Task

FIELDS = {
    "id", "dataset", "image_path", "question", "gt_answer", "correct_index", "task", "modality",
    "parts", "original_task", "restricted",
}  # fmt: skip


@pytest.fixture
def built_workspace(toy, pressed, workspace):
    """A built workspace that the test may change."""
    shutil.copytree(pressed(toy) / "workspace", workspace.root, dirs_exist_ok=True)
    return workspace


@pytest.fixture
def public(toy, pressed):
    """A public release that was made once, to be read alone."""
    return pressed(toy) / "public"


@pytest.fixture
def write(toy, built_workspace, tmp_path):
    def write_release(name="release", **options):
        options = {"name": "test", "allow_unreviewed": True, **options}
        return release(built_workspace, {"toy": toy}, tmp_path / name, **options)

    return write_release


def _items(out):
    return json.loads((out / "TOY" / "test.json").read_text())


def _open_items(out):
    return json.loads((out / "TOY" / "open.json").read_text())


def _restrict(toy, built_workspace, quiet):
    card = toy.folder / "card.toml"
    card.write_text(card.read_text().replace("redistribute = true", "redistribute = false"))
    build(built_workspace, {"toy": load_source(toy.folder)}, LocalEngine(1), quiet)


def test_items_have_exactly_the_published_fields(public):
    for item in _items(public):
        options = {name for name in item if name.startswith("option_")}
        assert set(item) - options == FIELDS
        assert options == {f"option_{letter}" for letter in "ABCD"[: len(options)]}
        assert 2 <= len(options) <= 4


def test_the_answer_is_exactly_one_option_and_its_index(public):
    for item in _items(public):
        texts = [item[f"option_{letter}"] for letter in "ABCD" if f"option_{letter}" in item]
        assert texts.count(item["gt_answer"]) == 1
        assert texts[item["correct_index"]] == item["gt_answer"]


def test_names_are_those_of_the_taxonomy_and_paths_lead_to_pictures(public):
    for item in _items(public):
        assert Task.parse(item["task"]).release_name == item["task"]
        assert item["modality"] in {m.value for m in Modality}
        assert item["parts"] in {a.value for a in Anatomy}
        assert (public / "TOY" / item["image_path"]).is_file()


def test_the_published_loader_takes_every_item(public):
    """The published evaluator's own rules: F1mc/MedRCube at 33d0ac9, scripts/eval.py."""
    items = _items(public)
    loaded = [
        item
        for item in items
        if item.get("id")
        and item.get("question")
        and item.get("gt_answer")
        and any(f"option_{letter}" in item for letter in "ABCD")
        and (public / "TOY" / item["image_path"]).exists()
    ]
    assert loaded == items


def test_every_file_is_in_the_sums_and_every_sum_holds(public):
    sums = _sums(public / "SHA256SUMS")
    files = {p.relative_to(public).as_posix() for p in public.rglob("*") if p.is_file()}
    assert set(sums) == files - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((public / name).read_bytes()).hexdigest() == digest


def test_every_picture_has_a_recipe_with_its_pixel_hash(public):
    recipes = [json.loads(line) for line in (public / "recipes.jsonl").read_text().splitlines()]
    items = (*_items(public), *_open_items(public))
    pictures = {f"TOY/{item['image_path']}" for item in items}
    assert {recipe["image"] for recipe in recipes} == pictures
    assert all(re.fullmatch("[0-9a-f]{64}", recipe["pixel_sha256"]) for recipe in recipes)


def test_restricted_pictures_are_withheld_and_their_recipes_stay(
    write, toy, built_workspace, quiet
):
    _restrict(toy, built_workspace, quiet)
    report = write()
    assert report.pictures == 0
    assert report.withheld > 0
    assert not list(report.out.rglob("*.png"))
    assert all(item["restricted"] for item in _items(report.out))
    assert (report.out / "recipes.jsonl").read_text()
    assert "omitted because their licences" in (report.out / "README.md").read_text()
    assert not (report.out / "PRIVATE.md").exists()


@pytest.mark.parametrize("mode", ["open", "credentialed"])
def test_a_public_release_names_the_agreements_that_withheld_images_are_under(
    toy, built_workspace, quiet, tmp_path, mode
):
    _restrict(toy, built_workspace, quiet)
    card = toy.folder / "card.toml"
    card.write_text(card.read_text().replace('mode = "open"', f'mode = "{mode}"'))
    sources = {"toy": load_source(toy.folder)}
    agreements = [
        release(
            built_workspace, sources, tmp_path / str(private), name="test", allow_unreviewed=True,
            private=private,
        ).under_agreement
        for private in (False, True)
    ]  # fmt: skip
    assert agreements == [() if mode == "open" else ("toy",), ()]


def test_a_private_release_keeps_them_and_says_so(write, toy, built_workspace, quiet):
    _restrict(toy, built_workspace, quiet)
    report = write(private=True)
    assert report.withheld == 0
    assert list(report.out.rglob("*.png"))
    assert "Private: do not share" in (report.out / "PRIVATE.md").read_text()


def test_every_file_of_a_private_release_is_in_one_of_two_lists_of_sums(
    write, toy, built_workspace, quiet
):
    _restrict(toy, built_workspace, quiet)
    out = write(private=True).out
    sums = [_sums(out / name) for name in ("SHA256SUMS", "SHA256SUMS.restricted")]
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert sums[0].keys() | sums[1].keys() == files - {"SHA256SUMS"}
    assert not sums[0].keys() & sums[1].keys()
    for name, digest in (*sums[0].items(), *sums[1].items()):
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest


def test_editions_differ_in_restricted_pictures_and_their_mark_alone(
    write, toy, built_workspace, quiet
):
    _restrict(toy, built_workspace, quiet)
    public, private = write("public").out, write("private", private=True).out
    for path in public.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (private / path.relative_to(public)).read_bytes()
    names = [{p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
             for out in (private, public)]  # fmt: skip
    assert names[0] - names[1] == _sums(public / "SHA256SUMS.restricted").keys()


def test_without_a_restricted_picture_there_is_no_mark(write):
    out = write(private=True).out
    assert not (out / "PRIVATE.md").exists()
    assert not (out / "SHA256SUMS.restricted").exists()
    assert "PRIVATE.md" not in (out / "README.md").read_text()


def _lose_a_picture_of_an_item(workspace):
    sample_ids = pd.read_parquet(workspace.items)["sample"]
    samples = pd.read_parquet(workspace.samples).set_index("id")
    (workspace.root / samples.loc[sample_ids[0], "image"]).unlink()


def test_a_withheld_picture_that_is_lost_stops_a_public_release_too(
    write, toy, built_workspace, quiet
):
    _restrict(toy, built_workspace, quiet)
    _lose_a_picture_of_an_item(built_workspace)
    with pytest.raises(ReleaseError, match="build again"):
        write()


def test_without_reviews_nothing_is_released_unless_asked_and_the_card_says_it(write):
    with pytest.raises(ReleaseError, match="--allow-unreviewed"):
        write(allow_unreviewed=False)
    assert "have not been accepted by a" in (write().out / "README.md").read_text()


def test_a_release_is_never_overwritten(write):
    write()
    with pytest.raises(ReleaseError, match="never overwritten"):
        write()


def test_a_failed_audit_stops_a_release(write, built_workspace):
    audit = json.loads(built_workspace.audit.read_text())
    audit["failures"] = ["two options are one"]
    built_workspace.audit.write_text(json.dumps(audit))
    with pytest.raises(ReleaseError, match="two options are one"):
        write()


def test_a_build_without_items_says_where_the_reasons_stand(write, built_workspace):
    pd.read_parquet(built_workspace.items).head(0).to_parquet(built_workspace.items)
    with pytest.raises(ReleaseError, match=r"no items, .*audit\.json states under 'dropped'"):
        write()


def test_a_lost_picture_stops_a_release_and_leaves_no_rest(write, built_workspace, tmp_path):
    _lose_a_picture_of_an_item(built_workspace)
    with pytest.raises(ReleaseError, match="build again"):
        write()
    assert not list(tmp_path.glob(".release*"))
    assert not (tmp_path / "release").exists()


def test_an_unbuilt_workspace_says_to_build(write, built_workspace):
    built_workspace.items.unlink()
    with pytest.raises(WorkspaceError, match=r"parquet: is missing; build first:  medrcube build"):
        write()


def test_an_output_that_cannot_be_written_is_an_error(write, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot be written"):
        write("file/release")


def test_two_releases_of_one_build_are_equal(write):
    first, second = write("one").out, write("two").out
    for path in first.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def _sums(path):
    return dict(reversed(line.split("  ", 1)) for line in path.read_text().splitlines())


def test_whether_the_picture_shows_the_answer_is_told_of_every_item(built_workspace, write):
    frame = pd.read_parquet(built_workspace.items)
    frame["visible"] = ["partly" if number % 3 else "yes" for number in range(len(frame))]
    frame["block"] = [f"b{number // 4}" for number in range(len(frame))]
    frame.to_parquet(built_workspace.items)
    expected = {row.id: (row.visible, row.block) for row in frame.itertuples()}
    out = write().out
    expected |= {item["id"]: ("yes", "") for item in _open_items(out)}
    row_values = {row.id: (row.visible, row.block) for row in read_item_facts(out).values()}
    assert row_values == expected
    values_read = {item.id: (item.visible, item.block) for item in load_benchmark(out).items}
    assert values_read == row_values
    visibility = pd.read_parquet(out / "items.parquet").set_index("id")["visible"].to_dict()
    cube = {item["id"]: row_values[item["id"]][0] for item in _items(out)}
    assert visibility == cube
    counts = json.loads((out / "audit.json").read_text())["by_visible"]
    assert counts == dict(sorted(Counter(cube.values()).items()))
    assert "Items by what the image shows" in (out / "audit.html").read_text()


def test_the_unit_of_an_item_is_its_patient_else_its_case_and_names_neither(built_workspace, write):
    samples = pd.read_parquet(built_workspace.samples)
    samples["patient"] = ["p" if case < "m" else "" for case in samples["case"]]
    samples.to_parquet(built_workspace.samples)
    out = write().out
    of_sample = samples.set_index("id")
    table = pd.read_parquet(out / "items.parquet")
    rows = {row.id: row for row in read_item_facts(out).values()}
    units = {}
    for item in table.itertuples():
        sample = of_sample.loc[item.sample]
        units.setdefault(sample["patient"] or sample["case"], set()).add(rows[item.id].unit)
        kind = "patient" if sample["patient"] else "case"
        assert rows[item.id].unit.startswith(f"{kind}-")
    assert all(len(entries) == 1 for entries in units.values())
    assert len(set.union(*units.values())) == len(units) > 1
    again = {row.unit for row in read_item_facts(write("again").out).values()}
    assert again == set.union(*units.values())


def test_units_cannot_be_computed_without_the_key_of_the_workspace(built_workspace, write):
    before = {row.id: row for row in read_item_facts(write("one").out).values()}
    (built_workspace.root / "cache/patient.key").unlink()
    after = {row.id: row for row in read_item_facts(write("two").out).values()}
    assert not {row.unit for row in before.values()} & {row.unit for row in after.values()}
    assert {name: row.fact for name, row in before.items()} == {
        name: row.fact for name, row in after.items()
    }
    assert len({row.fact for row in after.values()}) == len(after)
