"""A sound release is valid; each thing that can be wrong is named for what it is."""

import csv
import json
import shutil
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from medrcube.build.validation.findings import FAULT_KINDS
from medrcube.errors import ReleaseError
from medrcube.release_format.errata import Erratum, errata_text

PICTURE = "TOY/pictures/0a/g_0.png"
BARRED = "TOY/pictures/65/m_2.png"


@pytest.mark.parametrize("private", [False, True])
def test_a_release_is_valid_and_says_whether_it_may_be_shared(private, edition, check):
    validation = check(edition(private=private))
    assert not validation.findings
    assert not validation.unchecked
    assert validation.private is private
    assert validation.restricted > 0
    assert validation.without_picture == (0 if private else validation.restricted)


def test_every_rule_of_the_contracts_is_on_record(public, check):
    tables = check(public).contracts["tables"]
    assert all(rule["holds"] for rules in tables.values() for rule in rules)
    assert set(tables) == {"items", "open_items", "open_records", "records", "sets"}


def test_open_items_are_held_against_their_contract(small_demo, tmp_path, check):
    tree = shutil.copytree(small_demo / "demo/release", tmp_path / "release")
    sound = check(tree).contracts["tables"]
    assert {"open_items", "open_records", "sets"} <= set(sound)
    assert all(rule["holds"] for rules in sound.values() for rule in rules)
    table = pd.read_parquet(tree / "open_items.parquet")
    pq.write_table(pa.Table.from_pandas(table.assign(grade="D")), tree / "open_items.parquet")
    findings = {finding.check: finding for finding in check(tree).findings}
    assert findings["contract open_items/grade"].count == len(table)
    assert findings["contract open_items/grade"].level == "error"


def test_nothing_is_written_into_the_tree(public, check):
    def state():
        return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in public.rglob("*")}

    before = state()
    check(public)
    assert state() == before


def test_errata_are_checked_and_belong_to_no_list_of_digests(public, check, faults):
    item = json.loads((public / "TOY/test.json").read_text())[0]["id"]
    row = Erratum(dataset="TOY", id=item, by="maintainer", on="2026-01-31", why="Wrong key.")
    (public / "errata.csv").write_text(errata_text([row]))
    validation = check(public)
    assert (validation.findings, validation.withdrawn) == ((), 1)
    (public / "errata.csv").write_text(errata_text([row, replace(row, id="nobody")]))
    assert faults(public) == {"errata"}
    (public / "errata.csv").write_text(errata_text([replace(row, by="a@b.org")]))
    assert faults(public) == {"errata"}


def test_a_restricted_picture_in_a_public_tree_is_an_error(edition, faults):
    public, private = edition("a"), edition("b", private=True)
    (public / BARRED).parent.mkdir()
    shutil.copy(private / BARRED, public / BARRED)
    assert faults(public) == {"restricted-picture"}


def test_a_restricted_picture_under_another_name_is_found_by_its_pixels(edition, check):
    public, private = edition("a"), edition("b", private=True)
    shutil.copy(private / BARRED, public / "TOY/harmless.dat.png")
    examples = {finding.check: finding.examples for finding in check(public).findings}
    assert examples["restricted-picture"] == ["TOY/harmless.dat.png"]


def test_a_private_tree_that_lacks_restricted_pictures_is_a_warning(edition, faults):
    private = edition(private=True)
    (private / BARRED).unlink()
    assert faults(private) == set()
    assert faults(private, "warning") == {"restricted-missing"}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "check_name"),
    [
        ("README.md", "file-missing"),
        (PICTURE, "picture-missing"),
        ("SHA256SUMS", "proof-missing"),
        ("recipes.jsonl", "proof-missing"),
        ("items.parquet", "proof-missing"),
        ("audit.json", "proof-missing"),
        ("licences.csv", "proof-missing"),
        ("items.csv", "item-facts"),
        ("sets.json", "file-missing"),
    ],
)
def test_a_lost_file_is_missed(name, check_name, public, faults):
    (public / name).unlink()
    assert check_name in faults(public)


def test_a_table_of_facts_that_was_lost_with_its_digest_is_missed_by_the_edition(public, faults):
    (public / "items.csv").unlink()
    sums = public / "SHA256SUMS"
    lines = sums.read_text().splitlines(keepends=True)
    sums.write_text("".join(line for line in lines if not line.endswith("  items.csv\n")))
    assert faults(public) == {"item-facts", "proof-missing"}


def test_a_changed_file_is_found(public, faults):
    (public / "README.md").write_text("other")
    assert faults(public) == {"digest"}


def test_a_file_that_is_in_no_list_is_found(public, faults):
    (public / "TOY/notes.txt").write_text("note")
    assert faults(public) == {"file-extra"}


@pytest.mark.parametrize(
    "line",
    ["nonsense", "0" * 64 + "  ../outside", "0" * 64 + "  /etc/passwd", "F" * 64 + "  README.md"],
)
def test_a_broken_list_of_digests_is_found(line, public, faults):
    path = public / "SHA256SUMS"
    path.write_text(path.read_text() + line + "\n")
    assert faults(public) == {"sums"}


def test_other_pixels_than_those_of_the_recipe_are_found(public, faults):
    picture = Image.open(public / PICTURE)
    picture.putpixel((0, 0), 255 - picture.getpixel((0, 0)))
    picture.save(public / PICTURE)
    assert faults(public) == {"digest", "pixel-hash", "edition-differs"}


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"gt_answer": "Nothing"}, "key"),
        ({"correct_index": 3}, "key"),
        ({"gt_answer": " {gt_answer}"}, "key-text"),
        ({"option_A": "{option_B}"}, "options"),
        ({"option_B": None, "option_C": None, "option_D": None}, "options"),
        ({"option_D": ""}, "empty-option"),
        ({"task": "Report Generation"}, "task"),
        ({"task": "dd"}, "spelling"),
        ({"modality": "PET"}, "modality"),
        ({"parts": "Foot"}, "parts"),
        ({"parts": "brain"}, "spelling"),
        ({"question": ""}, "field"),
        ({"restricted": "no"}, "field"),
        ({"note": "mine"}, "fields"),
        ({"dataset": "OTHER"}, "folder"),
        ({"image_path": "../pictures/0a/g_0.png"}, "image-path"),
        ({"image_path": "pictures/other.png"}, "recipe-missing"),
        ({"question": "What else does the picture show?"}, "items-differ"),
        ({"id": "0000000000000000"}, "items-differ"),
    ],
)
def test_an_item_that_is_wrong_is_named_for_what_it_is(changes, expected, public, edit, faults):
    def change(rows):
        boxes = (row for row in rows if row["task"] == "ROI Grounding" and "option_D" in row)
        row = next(row for row in boxes if row["correct_index"] != 3)
        new = {
            name: value.format(**row) if isinstance(value, str) else value
            for name, value in changes.items()
        }
        row.update(new)

    edit(public, change)
    assert expected in faults(public)


def test_an_id_that_stands_twice_is_an_error(public, edit, faults):
    edit(public, lambda rows: [*rows, rows[0]])
    assert "contract records/unique-id" in faults(public)


def test_an_id_of_two_sources_is_an_error(public, edit, faults):
    shutil.copytree(public / "TOY", public / "OTHER")
    (public / "OTHER/test.json").write_text(
        (public / "TOY/test.json").read_text().replace('"TOY"', '"OTHER"')
    )
    assert "contract records/unique-id" in faults(public)


def test_a_lost_field_is_an_error(public, edit, faults):
    edit(public, lambda rows: rows[0].pop("original_task") and None)
    assert "fields" in faults(public)


def test_flags_that_disagree_are_found(public, edit, faults):
    def change(rows):
        rows[0]["restricted"] = not rows[0]["restricted"]

    edit(public, change)
    assert "restricted-flag" in faults(public)


def test_a_recipe_about_no_item_is_found(public, edit, faults):
    image_path = json.loads((public / "TOY/test.json").read_text())[0]["image_path"]

    def change(rows):
        return [row for row in rows if row["image_path"] != image_path]

    edit(public, change)
    assert "recipe-unused" not in faults(public)  # items beyond the cube show the image as well
    edit(public, change, table="open.json")
    assert {"recipe-unused", "items-differ", "licence-table", "audit-count"} <= faults(public)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda audit: audit["failures"].append("item x: two options are one"), "audit-failed"),
        (lambda audit: audit["review"].update(items=1), "audit-count"),
        (lambda audit: audit.update(synthetic="yes"), "audit"),
        (lambda audit: audit["review"].update(unreviewed=0), "audit-count"),
        (lambda audit: audit.pop("failures"), "audit"),
    ],
)
def test_an_audit_that_failed_or_counts_other_items_is_found(change, expected, public, faults):
    audit = json.loads((public / "audit.json").read_text())
    change(audit)
    (public / "audit.json").write_text(json.dumps(audit))
    assert faults(public) == {"digest", expected}


def _without_licence(rows):
    rows[1][3] = " "


def _twice(rows):
    rows.append(rows[1])


def _other_columns(rows):
    rows[0][0] = "name"


def _in_words(rows):
    rows[-1][rows[0].index("licence")] = "listed as authorized for everyone"


@pytest.mark.parametrize("change", [list.pop, _without_licence, _in_words, _twice, _other_columns])
def test_a_table_of_licences_that_is_not_complete_is_found(change, public, faults):
    path = public / "licences.csv"
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    change(rows)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert faults(public) == {"digest", "licence-table"}


def test_a_licence_that_contradicts_the_item_is_found(public, faults):
    path = public / "licences.csv"
    path.write_text(path.read_text().replace(",yes,", ",no,"))
    assert faults(public) == {"digest", "restricted-flag"}


def test_items_without_evidence_break_the_contract(public, faults):
    items = pd.read_parquet(public / "items.parquet")
    items.loc[0, "details"] = items.loc[0, "details"].replace('"grade": "A"', '"grade": ""')
    items.to_parquet(public / "items.parquet", index=False)
    assert faults(public) == {"digest", "contract items/graded"}


def _other_text(rows):
    rows[0]["question"] = "Another?"


def _other_unit(rows):
    rows[0]["unit"] = "patient-0123456789abcdef"


def _other_picture(rows):
    row = next(row for row in rows if row["image"])
    row["image"]["bytes"] += b"x"


def _barred_picture(rows):
    row = next(row for row in rows if row["restricted"])
    row["image"] = {"bytes": b"pixels", "path": "x.png"}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (list.pop, "edition-differs"),
        (lambda rows: rows.append(rows[0]), "edition-differs"),
        (_other_text, "edition-differs"),
        (_other_picture, "edition-differs"),
        (_other_unit, "edition-differs"),
        (_barred_picture, "restricted-picture"),
    ],
)
@pytest.mark.parametrize("private", [False, True])
def test_a_parquet_edition_that_tells_something_else_is_found(
    private, change, expected, edition, faults
):
    tree = edition(private=private)
    path = tree / "data/toy/test-00000.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    if private and expected == "restricted-picture":
        expected = "edition-differs"  # it may be there, but is not the item's own
    assert faults(tree) == {"digest", expected}


def _alone(rows):
    units = [row["unit"] for row in rows]
    rows[next(n for n, unit in enumerate(units) if units.count(unit) > 1)]["unit"] = (
        "case-0123456789abcdef"
    )


def _one_fact(rows):
    rows[0]["fact"] = rows[1]["fact"]


def _no_unit(rows):
    rows[0]["unit"] = ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_alone, "unit"),
        (_one_fact, "item-facts"),
        (_no_unit, "item-facts"),
        (list.pop, "item-facts"),
        (lambda rows: rows[0].update(unit="Jane Doe"), "item-facts"),
        (lambda rows: rows[0].update(id="none"), "item-facts"),
    ],
)
def test_units_and_facts_that_cannot_be_are_found(change, expected, public, faults):
    path = public / "items.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    columns = list(rows[0])
    change(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    assert {"digest", expected} <= faults(public) <= {"digest", expected, "edition-differs"}


def test_a_parquet_edition_that_is_none_is_found(public, faults):
    (public / "data/toy/test-00000.parquet").write_bytes(b"PAR1 and no more")
    assert {"digest", "edition"} <= faults(public)


def test_the_published_tree_is_valid_and_what_cannot_be_checked_is_said(public, check):
    shutil.copytree(public / "TOY", public.parent / "published/TOY")
    validation = check(public.parent / "published")
    assert validation.foreign
    assert not validation.findings
    assert len(validation.unchecked) == 8


@pytest.mark.parametrize("place", ["test.json", "TOY/more/test.json"])
def test_a_table_that_only_the_published_evaluator_would_count_is_an_error(place, public, faults):
    shutil.copytree(public / "TOY", public.parent / "published/TOY")
    tree = public.parent / "published"
    assert "table-place" not in faults(tree)
    (tree / place).parent.mkdir(exist_ok=True)
    shutil.copy(tree / "TOY/test.json", tree / place)
    assert "table-place" in faults(tree)


def test_causes_are_told_before_what_follows_from_them(public, check):
    (public / "TOY/test.json").write_text("[")
    checks = [finding.check for finding in check(public).findings]
    assert checks[:2] == ["digest", "table"]
    assert {"recipe-unused", "items-differ", "licence-table", "edition-differs"} <= set(checks[2:])


def test_a_published_tree_may_spell_and_encode_in_its_own_way(public, edit, faults):
    tree = public.parent / "published"
    shutil.copytree(public / "TOY", tree / "TOY")
    Image.open(tree / PICTURE).save(tree / PICTURE, dpi=(72, 72))
    edit(tree, lambda rows: rows[0].update(parts="brain", split="test"))
    assert faults(tree) == set()
    assert faults(tree, "warning") == {"spelling", "fields", "picture-extras"}


def test_a_folder_that_is_no_release_says_what_was_expected(tmp_path, check):
    with pytest.raises(ReleaseError, match=r"no <SOURCE>/test\.json"):
        check(tmp_path)


def test_examples_are_few_and_all_are_counted(public, edit, check):
    edit(public, lambda rows: [{**row, "task": "?"} for row in rows])
    (finding,) = [entry for entry in check(public).findings if entry.check == "task"]
    assert len(finding.examples) == 3
    assert finding.count == len(json.loads((public / "TOY/test.json").read_text()))


def test_every_kind_of_fault_says_what_is_wrong_and_what_to_do():
    assert all(check.title and check.advice for check in FAULT_KINDS.values())
