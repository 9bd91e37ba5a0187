"""What reconstruction says of other raw data than those of the release, and what it leaves."""

import hashlib
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from medrcube.build.execution.local import LocalEngine
from medrcube.build.incremental import file_states
from medrcube.build.pipeline import build
from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.pixels.windowing import policy as window_policy
from medrcube.build.reconstruction import safe_writes
from medrcube.build.reconstruction.outcomes import Status
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.build.reconstruction.recorded_jobs import _frames
from medrcube.build.reconstruction.safe_writes import place_picture
from medrcube.build.reconstruction.scan_causes import other_causes, problem_of
from medrcube.build.release.write import release
from medrcube.build.stages.rendering.recipe import EPOCH
from medrcube.build_settings import BuildSettings
from medrcube.errors import MedrcubeError, SourceError, WorkspaceError
from medrcube.facts import BAD_ROW, ImageRef, QuarantineRow
from medrcube.release_format.images import FolderImages
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources
from medrcube.workspace import WorkspaceFolder

CLEAN = "TOY/pictures/0a/g_0.png"


@pytest.fixture
def withheld(toy):
    """The toy source, whose pictures may not be redistributed."""
    return _edit(toy, "redistribute = true", "redistribute = false")


@pytest.fixture
def released(withheld, pressed, tmp_path):
    """The public edition of a release of the toy source; the private one lies beside it."""
    for name in ("public", "private"):
        shutil.copytree(pressed(withheld) / name, tmp_path / name)
    return tmp_path / "public"


@pytest.fixture
def again(released, withheld, raw, quiet):
    """Reconstruct: ``again()`` -> outcome of each picture, by its path."""

    def run(source=withheld, roots=None):
        roots = {"toy": raw} if roots is None else roots
        reconstruction = reconstruct(released, roots, {"toy": source}, LocalEngine(1), quiet)
        return {
            picture.image: picture
            for source in reconstruction.sources
            for picture in source.pictures
        }

    return run


def test_all_pictures_come_back_and_a_second_run_leaves_them_as_they_are(again, released):
    first = again()
    assert {entry.status for entry in first.values()} == {Status.REBUILT}
    states = {image: _untouched(released / image) for image in first}
    second = again()
    assert {entry.status for entry in second.values()} == {Status.ALREADY_THERE}
    assert {image: _untouched(released / image) for image in first} == states


def test_each_folder_of_the_raw_tree_is_listed_once(again, raw, listings, monkeypatch):
    # No second look at a copy that is being written.
    monkeypatch.setattr(file_states, "_TICK_NS", 0)
    folders = {str(folder): 1 for folder in (raw, *raw.rglob("*")) if folder.is_dir()}
    listings.clear()
    assert {outcome.status for outcome in again().values()} == {Status.REBUILT}
    assert {name: n for name, n in listings.items() if Path(name).is_relative_to(raw)} == folders


def test_nothing_is_left_beside_pictures_and_the_private_mark(again, released, tmp_path):
    again()
    assert _files(released) == _files(tmp_path / "private")


def test_the_private_mark_comes_with_the_first_restricted_picture(again, released, raw):
    assert not (released / "PRIVATE.md").exists()
    again(roots={})
    assert not (released / "PRIVATE.md").exists()
    for path in raw.glob("*.png"):
        if not path.name.startswith("g (0)"):
            path.unlink()
    again()
    assert "do not share" in (released / "PRIVATE.md").read_text()


def test_a_tree_in_which_somebody_else_put_the_pictures_is_marked_too(again, released, tmp_path):
    shutil.copytree(tmp_path / "private/TOY", released / "TOY", dirs_exist_ok=True)
    again(roots={})
    assert (released / "PRIVATE.md").exists()


def test_open_pictures_that_were_lost_come_back_without_a_mark(
    toy, workspace, raw, tmp_path, quiet
):
    toy = _edit(toy, "redistribute = false", "redistribute = true")
    build(workspace, {"toy": toy}, LocalEngine(1), quiet)
    out = tmp_path / "open"
    release(workspace, {"toy": toy}, out, name="x", allow_unreviewed=True)
    before = _files(out)
    next((out / "TOY/pictures").glob("*/*.png")).unlink()
    assert reconstruct(out, {"toy": raw}, {"toy": toy}, LocalEngine(1), quiet).short == 0
    assert _files(out) == before
    assert not (out / "SHA256SUMS.restricted").exists()


def test_a_picture_with_other_pixels_is_made_again(again, released):
    again()
    right = (released / CLEAN).read_bytes()
    with Image.open(released / CLEAN) as picture:
        turned = picture.rotate(180)
    turned.save(released / CLEAN)
    outcomes = again()
    assert outcomes[CLEAN].status is Status.REBUILT
    assert (released / CLEAN).read_bytes() == right
    assert sum(outcome.status is Status.REBUILT for outcome in outcomes.values()) == 1


@pytest.mark.parametrize("data", [b"", b"no picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_a_damaged_picture_is_made_again(again, released, data):
    again()
    (released / CLEAN).write_bytes(data)
    assert again()[CLEAN].status is Status.REBUILT


def test_equal_pixels_in_other_bytes_count_as_there(again, released):
    again()
    with Image.open(released / CLEAN) as picture:
        picture.save(released / CLEAN, compress_level=9)
    assert again()[CLEAN].status is Status.ALREADY_THERE


def test_a_picture_of_16_bit_is_not_taken_for_ours(tmp_path):
    Image.new("I;16", (4, 4)).save(tmp_path / "deep.png")
    assert safe_writes.stored_hash(FolderImages(tmp_path), "deep.png") is None


def test_a_picture_larger_than_pillow_opens_and_a_cut_one_are_not_taken_for_ours(
    tmp_path, monkeypatch
):
    Image.new("L", (40, 50)).save(tmp_path / "whole.png")
    monkeypatch.setattr(safe_writes, "_MOST_PIXELS", 2000)
    assert safe_writes.stored_hash(FolderImages(tmp_path), "whole.png") is not None
    monkeypatch.setattr(safe_writes, "_MOST_PIXELS", 1999)
    assert safe_writes.stored_hash(FolderImages(tmp_path), "whole.png") is None
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:20])
    assert safe_writes.stored_hash(FolderImages(tmp_path), "cut.png") is None


def test_one_flipped_byte_is_told_with_both_digests_and_only_of_its_case(again, raw, released):
    path = raw / "g (0).png"
    was = hashlib.sha256(path.read_bytes()).hexdigest()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    now = hashlib.sha256(data).hexdigest()
    outcomes = again()
    mine = [outcome for outcome in outcomes.values() if outcome.case == "g (0)"]
    assert {entry.status for entry in mine} == {Status.RAW_FILE_DIFFERS}
    (file,) = mine[0].raw
    assert (file.name, file.recorded, file.found) == ("g (0).png", was, now)
    assert was in mine[0].detail
    assert now in mine[0].detail
    assert {outcome.status for outcome in outcomes.values() if outcome.case != "g (0)"} == {
        Status.REBUILT
    }
    assert not (released / CLEAN).exists()


def test_boxes_come_back_from_the_recipe_though_the_mask_is_another(again, raw):
    shutil.copyfile(raw / "g (1)_mask.png", raw / "g (0)_mask.png")
    outcomes = {outcome.image: outcome for outcome in again().values() if outcome.case == "g (0)"}
    assert any(".boxes-" in image for image in outcomes)
    assert {outcome.status for outcome in outcomes.values()} == {Status.REBUILT}


def test_boxes_come_back_from_the_recipe_where_the_clean_picture_is_there_already(
    again, raw, released, tmp_path
):
    shutil.copyfile(raw / "g (1)_mask.png", raw / "g (0)_mask.png")
    for path in (tmp_path / "private/TOY/pictures/0a").glob("g_0*"):
        if ".boxes-" not in path.name:
            place_picture(released, f"TOY/pictures/0a/{path.name}", path.read_bytes())
    values_by_key = {
        outcome.image: outcome.status for outcome in again().values() if outcome.case == "g (0)"
    }
    assert {image for image, status in values_by_key.items() if status is Status.REBUILT} == {
        image for image in values_by_key if ".boxes-" in image
    }
    assert Status.REBUILT in values_by_key.values()
    assert set(values_by_key.values()) == {Status.REBUILT, Status.ALREADY_THERE}


def test_another_mask_is_told_where_it_shows_and_the_clean_picture_comes_back(again, raw, released):
    shutil.copyfile(raw / "g (1)_mask.png", raw / "g (0)_mask.png")
    _rewrite(released, lambda recipe: recipe["mark"].update(boxes=[]))
    outcomes = {entry.image: entry for entry in again().values() if entry.case == "g (0)"}
    assert outcomes.pop(CLEAN).status is Status.REBUILT
    assert outcomes
    for outcome in outcomes.values():
        assert outcome.status is Status.RAW_FILE_DIFFERS
        assert [file.name for file in outcome.raw] == ["g (0)_mask.png"]


def test_a_file_that_was_merely_written_anew_gives_its_picture(again, raw):
    for path in raw.glob("*.png"):
        with Image.open(path) as picture:
            picture.load()
        picture.save(path, compress_level=1)
    assert {outcome.status for outcome in again().values()} == {Status.REBUILT}


@pytest.mark.parametrize("name", ["g (0).png", "g (0)_mask.png"])
def test_a_missing_file_is_named(again, raw, released, name):
    (raw / name).unlink()
    _rewrite(released, _of_other_pixels, case="g (0)")
    outcomes = again()
    mine = [outcome for outcome in outcomes.values() if outcome.case == "g (0)"]
    assert {entry.status for entry in mine} == {Status.RAW_FILE_MISSING}
    assert all(entry.detail.count(name) == 1 for entry in mine)
    assert {outcome.status for outcome in outcomes.values() if outcome.case != "g (0)"} == {
        Status.REBUILT
    }


@pytest.mark.thorough
def test_a_table_without_its_films_names_each(tmp_path, quiet):
    sources = find_sources()
    source = sources["vindr-cxr"]
    raw = tmp_path / "raw"
    source.build_fixture(raw, source.card.layouts[0].name)
    pairs = BuildSettings(two_option_share=1.0)  # its films have room for two boxes alone
    workspace = WorkspaceFolder(root=tmp_path / "w", sources={source.id: raw}, settings=pairs)
    build(workspace, sources, LocalEngine(1), quiet)
    release(workspace, sources, tmp_path / "out", name="x", allow_unreviewed=True)
    recipe = json.loads((tmp_path / "out/recipes.jsonl").read_text().splitlines()[0])
    (name,) = recipe["files"]
    (raw / name).unlink()
    (entry,) = reconstruct(
        tmp_path / "out", {source.id: raw}, sources, LocalEngine(1), quiet
    ).sources
    mine = [picture for picture in entry.pictures if picture.case == recipe["case"]]
    assert {result.status for result in mine} == {Status.RAW_FILE_MISSING}
    assert all([file.name for file in result.raw] == [name] for result in mine)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_up_to_three_missing_files_of_a_case_are_named(again, released, raw, count):
    names = [f"gone {number}.png" for number in range(count)]
    _rewrite(
        released, lambda entry: entry["files"].update(dict.fromkeys(names, "0" * 64)), only=CLEAN
    )
    (raw / "g (0).png").unlink()
    (raw / "g (0)_mask.png").unlink()
    outcome = again()[CLEAN]
    assert outcome.status is Status.RAW_FILE_MISSING
    gone = [file.name for file in outcome.raw]
    assert set(names) < set(gone)
    assert outcome.detail.startswith(f"{', '.join(gone[:3])}: a raw file of the case")


def test_a_copy_that_fits_no_layout_is_told_by_the_files_that_it_lacks(again, raw):
    for path in raw.glob("*.png"):
        path.unlink()
    outcomes = again()
    assert {outcome.status for outcome in outcomes.values()} == {Status.RAW_FILE_MISSING}
    assert all(outcome.raw[0].name in outcome.detail for outcome in outcomes.values())


def test_why_a_copy_is_refused_is_said_once(released, withheld, raw, quiet):
    for path in raw.glob("*.png"):
        path.unlink()
    result = reconstruct(released, {"toy": raw}, {"toy": withheld}, LocalEngine(1), quiet)
    lines = [*result.sources[0].notes, *result.reasons(5)]
    assert sum("fits no layout" in line for line in lines) == 1


def test_a_row_that_several_cases_share_is_the_cause_of_each():
    rows = [
        QuarantineRow(source="x", case=case, stage="scan", code=BAD_ROW, message=f"row of {case}")
        for case in ("p1", "p1-4CH", "p2")
    ]
    assert problem_of("p1-4CH-ED", rows).case == "p1-4CH"
    assert problem_of("p1-4CHAMBER", rows).case == "p1"
    assert problem_of("p1-4CH", rows).case == "p1-4CH"
    assert problem_of("p22", rows) is None
    assert list(other_causes(rows)) == [
        "the scan set rows aside: 3 bad-row: row of p1 (so in 1 of 3)"
    ]


def test_a_case_that_a_bad_row_sets_aside_comes_back_by_its_recipes(again, withheld):
    outcomes = again(_edit(withheld, 'values = { g = "glioma", m', "values = { m"))
    assert any(
        ".boxes-" in outcome.image for outcome in outcomes.values() if outcome.case.startswith("g")
    )
    assert {outcome.status for outcome in outcomes.values()} == {Status.REBUILT}


def test_a_case_that_a_bad_row_sets_aside_is_told_with_its_value_where_no_recipe_gives_it(
    again, released, withheld
):
    for case in ("g (0)", "g (1)"):
        _rewrite(released, _of_other_pixels, case=case)
    outcomes = again(_edit(withheld, 'values = { g = "glioma", m', "values = { m"))
    mine = [outcome for outcome in outcomes.values() if outcome.case.startswith("g")]
    assert {entry.status for entry in mine} == {Status.CASE_MISSING}
    assert all("value 'g'" in entry.detail and "(bad-row)" in entry.detail for entry in mine)
    others = {outcome.status for outcome in outcomes.values() if not outcome.case.startswith("g")}
    assert others == {Status.REBUILT}


def test_a_row_that_is_new_and_bad_costs_no_published_picture(again, raw, write_case):
    write_case(raw, "q (7)")
    assert {outcome.status for outcome in again().values()} == {Status.REBUILT}


def test_a_copy_whose_cases_share_a_key_is_told(again, released, withheld):
    _rewrite(released, _of_other_pixels)
    adapter = withheld.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace("key=path.stem,\n", "key=letter,\n"))
    outcomes = again(load_source(withheld.folder))
    assert {outcome.status for outcome in outcomes.values()} == {Status.CASE_MISSING}


def test_a_card_with_another_window_gives_the_images_of_the_release_by_their_recipes(
    again, withheld
):
    policy = '[pixels]\nwindow = "percentile:10-90"\n\n[[field]]\nname = "tumour"'
    outcomes = again(_edit(withheld, '[[field]]\nname = "tumour"', policy))
    assert {outcome.status for outcome in outcomes.values()} == {Status.REBUILT}


def test_a_card_with_another_window_is_told_where_the_recipes_do_not_tell_theirs(
    again, released, withheld
):
    def of_a_later_version(recipe):
        recipe["origin"]["policy"]["window"] = "of-a-later-version"

    _rewrite(released, of_a_later_version)
    policy = '[pixels]\nwindow = "percentile:10-90"\n\n[[field]]\nname = "tumour"'
    outcomes = again(_edit(withheld, '[[field]]\nname = "tumour"', policy))
    assert {entry.status for entry in outcomes.values()} == {Status.HASH_DIFFERS}
    for outcome in outcomes.values():
        assert outcome.stage == "card"
        assert "'of-a-later-version' in the release, 'percentile:10-90' now" in outcome.detail
        assert "the card of toy has changed" in outcome.detail


@pytest.mark.parametrize(
    ("named", "frames", "expected"),
    [
        ((None,), [(3,)], (3,)),
        ((None,), [(5,), (3,), (5,)], (3, 5)),
        ((None,), [(0,), (-1,)], (0,)),
        ((None, None), [(3, 3)], (3,)),
        ((4, None), [(4, 2)], (2,)),
        ((4,), [(4,)], ()),
        ((None,), [(3,), (3, 3)], ()),
        ((None, None), [(3,)], ()),
    ],
)
def test_the_slices_of_the_release_are_those_of_the_first_image_that_names_none(
    named, frames, expected
):
    images = [ImageRef(paths=(Path("a.nii"),), frame=frame) for frame in named]
    job = SimpleNamespace(case=SimpleNamespace(images=images))
    assert _frames(job, [SimpleNamespace(frames=of_one) for of_one in frames]) == expected


def test_a_card_that_changed_in_another_fact_gives_the_same_pictures(again, withheld):
    outcomes = again(_edit(withheld, 'release = "1.0"', 'release = "1.1"'))
    assert {outcome.status for outcome in outcomes.values()} == {Status.REBUILT}


def test_a_card_that_drops_a_case_is_told_with_its_reason_where_no_recipe_gives_it(
    again, released, withheld
):
    _rewrite(released, _of_other_pixels, case="g (0)")
    outcomes = again(_edit(withheld, 'keys = ["g (9)"]', 'keys = ["g (0)"]'))
    mine = [outcome for outcome in outcomes.values() if outcome.case == "g (0)"]
    assert {entry.status for entry in mine} == {Status.CASE_MISSING}
    assert all("a duplicate" in entry.detail for entry in mine)
    assert all("the card of toy has changed" in entry.detail for entry in mine)


def test_marks_that_no_task_asks_for_any_longer_come_back(again, released, withheld):
    _rewrite(released, lambda recipe: recipe["mark"].update(boxes=[]))
    outcomes = again(
        _edit(withheld, "tasks = [", 'tasks = ["Organ Recognition", ', '"ROI Grounding", ', "")
    )
    assert any(".boxes-" in outcome.image for outcome in outcomes.values())
    assert {outcome.status for outcome in outcomes.values()} == {Status.REBUILT}


def test_an_outline_comes_back_though_its_field_is_of_a_kind_that_none_is_drawn_of(
    toy, workspace, raw, tmp_path, quiet
):
    toy = _edit(toy, '"Disease Diagnosis"]', '"Disease Diagnosis", "Organ Recognition"]')
    toy = _edit(toy, "redistribute = true", "redistribute = false")
    build(workspace, {"toy": toy}, LocalEngine(1), quiet)
    release(workspace, {"toy": toy}, tmp_path / "out", name="x", allow_unreviewed=True)
    toy = _edit(toy, 'kind = "structure"', 'kind = "finding"')
    reconstruction = reconstruct(
        tmp_path / "out", {"toy": raw}, {"toy": toy}, LocalEngine(1), quiet
    )
    pictures = {picture.image: picture for picture in reconstruction.sources[0].pictures}
    assert any(".outline-" in image for image in pictures)
    assert {picture.status for picture in pictures.values()} == {Status.REBUILT}


def test_marks_come_back_though_the_slice_no_longer_shows_all_that_their_names_say(
    again, released, withheld
):
    _rewrite(released, lambda recipe: recipe["mark"].update(boxes=[]))
    adapter = withheld.folder / "adapter.py"
    text = adapter.read_text().replace("paths=(mask,))", "paths=(mask,), needs=((7,),))")
    adapter.write_text(text)
    outcomes = again(load_source(withheld.folder))
    assert any(".boxes-" in outcome.image for outcome in outcomes.values())
    assert {outcome.status for outcome in outcomes.values()} == {Status.REBUILT}


def test_windows_come_back_by_their_numbers_though_the_rule_now_gives_others(
    toy, workspace, raw, tmp_path, quiet, monkeypatch
):
    policy = '[pixels]\nwindow = "percentile:10-90"\n\n[[field]]\nname = "tumour"'
    toy = _edit(toy, '[[field]]\nname = "tumour"', policy)
    toy = _edit(toy, "redistribute = true", "redistribute = false")
    build(workspace, {"toy": toy}, LocalEngine(1), quiet)
    release(workspace, {"toy": toy}, tmp_path / "out", name="x", allow_unreviewed=True)
    monkeypatch.setattr(window_policy, "percentiles", lambda *_: (0.0, 1.0))
    reconstruction = reconstruct(
        tmp_path / "out", {"toy": raw}, {"toy": toy}, LocalEngine(1), quiet
    )
    assert {picture.status for picture in reconstruction.sources[0].pictures} == {Status.REBUILT}


def test_a_card_that_marks_another_field_is_told_as_another_plan(again, released, withheld):
    _rewrite(released, lambda recipe: recipe["mark"].update(boxes=[]))
    adapter = withheld.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('field="region"', 'field="area"'))
    outcomes = again(_edit(withheld, 'name = "region"', 'name = "area"'))
    mine = [outcome for outcome in outcomes.values() if ".boxes-" in outcome.image]
    assert mine
    assert {(entry.status, entry.stage) for entry in mine} == {(Status.HASH_DIFFERS, "plan")}


def test_a_case_that_the_adapter_no_longer_finds_is_told_where_no_recipe_gives_it(
    again, released, withheld
):
    _rewrite(released, _of_other_pixels)
    adapter = withheld.folder / "adapter.py"
    adapter.write_text(
        adapter.read_text().replace('"x"', '"g"').replace("yield Skip", "0 and Skip")
    )
    outcomes = again(load_source(withheld.folder))
    mine = [outcome for outcome in outcomes.values() if outcome.case.startswith("g")]
    assert {entry.status for entry in mine} == {Status.CASE_MISSING}
    assert all("its raw files are there" in entry.detail for entry in mine)
    assert all("the adapter of toy has changed" in entry.detail for entry in mine)


@pytest.mark.parametrize(
    ("path", "value", "stage"),
    [
        (("origin", "policy", "slice"), "every", "card"),
        (("plane",), "coronal", "orientation"),
        (("orient",), "stored", "orientation"),
        (("images", 0, "frame"), 7, "slice"),
        (("grey",), [{"window": "none", "policy": "bits"}], "window"),
        (("spacing_mm",), [[1.0, 0.5, 0.5]], "scale"),
        (("mark", "boxes"), [[0, 0, 4, 4]], "overlay"),
        (("epoch",), 0, "epoch"),
        (("encoder",), "another", "pixels"),
    ],
)
def test_the_first_stage_that_differs_is_named(again, released, path, value, stage):
    """Of a release of which one number, and therefore the picture, is another."""

    def change(recipe):
        recipe["pixel_sha256"] = "0" * 64
        place = recipe
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    _rewrite(released, change, only=CLEAN)
    outcomes = again()
    assert (outcomes[CLEAN].status, outcomes[CLEAN].stage) == (Status.HASH_DIFFERS, stage)
    assert not (released / CLEAN).exists()


def test_a_refusal_names_image_epoch_and_what_to_do(again, released):
    _rewrite(released, lambda entry: entry.update(pixel_sha256="0" * 64, epoch=1), only=CLEAN)
    outcome = again()[CLEAN]
    assert outcome.image == CLEAN
    assert f"renderer epoch 1 made it, this is epoch {EPOCH}" in outcome.detail
    assert "install the version of medrcube that README.md of the release names" in outcome.detail


def test_of_two_differences_the_earlier_stage_is_named(again, released):
    def change(recipe):
        recipe.update(pixel_sha256="0" * 64, epoch=0, plane="coronal")

    _rewrite(released, change, only=CLEAN)
    assert again()[CLEAN].stage == "orientation"


def test_a_picture_that_cannot_be_rendered_now_says_why(again, released, raw):
    """Equal bytes that no decoder of this machine reads: here, since they were never a picture."""
    (raw / "g (0).png").write_bytes(b"no picture")
    digest = hashlib.sha256(b"no picture").hexdigest()
    _rewrite(released, lambda entry: entry["files"].update({"g (0).png": digest}), only=CLEAN)
    assert again()[CLEAN].status is Status.NOT_RENDERED
    assert "g (0).png" in again()[CLEAN].detail


def test_recipes_of_an_older_version_are_read_without_their_origin(again, released):
    _rewrite(released, lambda recipe: recipe.pop("origin"))
    assert {outcome.status for outcome in again().values()} == {Status.REBUILT}


def test_a_source_that_is_not_given_says_how_to_get_its_data(released, withheld, quiet):
    reconstruction = reconstruct(released, {}, {"toy": withheld}, LocalEngine(1), quiet)
    (toy,) = reconstruction.sources
    assert set(toy.counts) == {Status.SOURCE_NOT_GIVEN}
    assert reconstruction.short == len(toy.pictures)
    assert any(note == "  1. Download it." for note in toy.notes)
    assert any("--source toy=ROOT" in picture.detail for picture in toy.pictures)


def test_a_source_that_nobody_knows_is_told(released, quiet):
    reconstruction = reconstruct(released, {}, {}, LocalEngine(1), quiet)
    assert {picture.status for picture in reconstruction.sources[0].pictures} == {
        Status.UNKNOWN_SOURCE
    }


def test_an_item_without_recipe_is_told(again, released):
    lines = (released / "recipes.jsonl").read_text().splitlines(keepends=True)
    remaining = [line for line in lines if json.loads(line)["image"] != CLEAN]
    (released / "recipes.jsonl").write_text("".join(remaining))
    outcomes = again()
    assert outcomes[CLEAN].status is Status.NO_RECIPE
    assert {outcome.status for outcome in outcomes.values()} == {Status.NO_RECIPE, Status.REBUILT}


def test_a_recipe_without_item_puts_nothing_into_the_tree(again, released):
    for table in (released / "TOY/test.json", released / "TOY/open.json"):
        items = json.loads(table.read_text())
        remaining = [item for item in items if f"TOY/{item['image_path']}" != CLEAN]
        assert len(remaining) < len(items)
        table.write_text(json.dumps(remaining))
    assert CLEAN not in again()
    assert not (released / CLEAN).exists()


def test_a_root_that_is_no_folder_or_of_no_source_stops_at_once(again, raw, tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        again(roots={"toy": tmp_path / "nowhere"})
    with pytest.raises(MedrcubeError, match="did you mean 'toy'"):
        again(roots={"toys": raw})


def test_two_at_work_in_one_tree_are_refused(again, released):
    with safe_writes.lock_tree(released), pytest.raises(WorkspaceError, match="another process"):
        again()


def test_what_a_killed_run_left_is_removed(again, released, tmp_path):
    (released / "TOY/pictures/0a").mkdir()
    (released / "TOY/pictures/0a/.abc.partial").write_bytes(b"half")
    (released / ".abc.partial").write_bytes(b"half")
    again()
    assert _files(released) == _files(tmp_path / "private")


def test_a_tree_that_cannot_be_written_is_an_error(again, released):
    (released / "PRIVATE.md").mkdir()
    with pytest.raises(WorkspaceError, match="cannot be written"):
        again()


def test_both_editions_have_one_card_and_one_list_of_sums(released, tmp_path):
    private = tmp_path / "private"
    public = _files(released)
    beside = _files(private).keys() - public.keys()
    assert {name: (private / name).read_bytes() for name in public} == public
    assert beside == set(_sums(private / "SHA256SUMS.restricted"))
    assert "PRIVATE.md" in beside
    for name, digest in _sums(private / "SHA256SUMS.restricted").items():
        assert hashlib.sha256((private / name).read_bytes()).hexdigest() == digest


@pytest.mark.thorough
def test_several_workers_give_the_same_tree(released, withheld, raw, tmp_path, quiet):
    reconstruct(released, {"toy": raw}, {"toy": withheld}, LocalEngine(2), quiet)
    assert _files(released) == _files(tmp_path / "private")


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
def test_a_picture_is_known_again_by_its_pixels(tmp_path, shape):
    pixels = np.random.default_rng(5).integers(0, 256, shape, np.uint8)
    (tmp_path / "a.png").write_bytes(encode_png(pixels))
    assert safe_writes.stored_hash(FolderImages(tmp_path), "a.png") == pixel_hash(pixels)


def _untouched(path):
    """What any write changes; reading may change the time of access."""
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _edit(source, *changes):
    card = source.folder / "card.toml"
    text = card.read_text()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        text = text.replace(old, new)
    card.write_text(text)
    return load_source(source.folder)


def _of_other_pixels(recipe):
    """Change a recipe so that no image is the one of the release."""
    recipe["pixel_sha256"] = "0" * 64


def _rewrite(tree, change, *, only=None, case=None):
    recipes = [json.loads(line) for line in (tree / "recipes.jsonl").read_text().splitlines()]
    for recipe in recipes:
        if only in (None, recipe["image"]) and case in (None, recipe["case"]):
            change(recipe)
    (tree / "recipes.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in recipes))


def _sums(path):
    lines = path.read_text().splitlines()
    return dict(reversed(line.split("  ", 1)) for line in lines)


def _files(tree):
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }
