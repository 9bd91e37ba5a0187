import time
from dataclasses import replace

import pytest

from medrcube.build.stages.scan import inspect_tree, scan
from medrcube.errors import SourceError
from medrcube.facts import BAD_ROW
from medrcube.sources._framework.contract import load_source, undeclared_files

KEY = b"k" * 32


def _codes(rows):
    return {problem.case: problem.code for problem in rows.problems}


def test_a_good_tree_gives_its_cases_and_no_problem(toy, raw):
    source_scan = scan(toy, raw, KEY)
    assert len(source_scan.cases) == 6
    assert (source_scan.absent, source_scan.problems) == ((), ())


def test_a_case_whose_image_is_not_there_is_absent_and_no_problem(toy, raw):
    text = (toy.folder / "adapter.py").read_text()
    extra = '\n    yield Case(key="gone", images=(ImageRef(paths=(root / "gone.png",)),))\n'
    (toy.folder / "adapter.py").write_text(text + extra)
    source_scan = scan(toy, raw, KEY)
    assert (source_scan.absent, source_scan.absent_files) == (("gone",), ("gone.png",))
    assert source_scan.problems == ()


def test_a_missing_mask_is_named(toy, raw):
    (raw / "g (0)_mask.png").unlink()
    source_scan = scan(toy, raw, KEY)
    assert _codes(source_scan) == {"g (0)": "mask-missing"}
    assert "g (0)_mask.png" in source_scan.problems[0].message


def test_the_card_can_drop_a_case_with_its_evidence(toy, raw, write_case):
    write_case(raw, "g (9)")
    source_scan = scan(toy, raw, KEY)
    assert _codes(source_scan) == {"g (9)": "dropped-by-card"}
    assert "https://example.org/toy/issues/1" in source_scan.problems[0].message


def test_an_adapter_can_set_a_file_aside_with_a_reason(toy, raw, write_case):
    write_case(raw, "x (1)")
    source_scan = scan(toy, raw, KEY)
    assert _codes(source_scan)["x (1)"] == "set-aside"


def test_a_picture_that_no_case_uses_is_reported(toy, raw, write_case):
    write_case(raw, "stray")
    (raw / "._hidden.png").touch()
    assert _codes(scan(toy, raw, KEY)) == {
        "(like xxxxx, no. 13 of 14).png": "unclaimed",
        "(like xxxxx_xxxx, no. 14 of 14).png": "unclaimed",
    }


def test_files_of_other_kinds_are_listed_once_a_folder_and_kind(toy, raw):
    for name in ("a.txt", "b.txt", "c.docx", "._d.txt"):
        (raw / name).touch()
    source_scan = scan(toy, raw, KEY)
    assert _codes(source_scan) == {"a.txt": "other-file", "c.docx": "other-file"}
    assert "1 more of its kind" in source_scan.problems[0].message


def test_an_unused_series_is_one_row(toy, raw):
    for number in range(3):
        (raw / "ct/1.2").mkdir(parents=True, exist_ok=True)
        (raw / f"ct/1.2/{number}.dcm").touch()
    (raw / "ct/4.dcm").touch()
    source_scan = scan(toy, raw, KEY)
    assert _codes(source_scan) == {"ct/1.2": "unclaimed", "ct/4.dcm": "unclaimed"}
    assert any("its 3 DICOM files" in problem.message for problem in source_scan.problems)


def test_the_series_of_a_slice_is_used_by_its_case(toy, raw, monkeypatch):
    (raw / "ct").mkdir()
    for number in range(3):
        (raw / f"ct/{number}.dcm").touch()
    series = tuple(raw / f"ct/{number}.dcm" for number in range(3))
    changed_copies = [
        replace(case, series=series) for case in toy.scan(raw, toy.card.layouts[0].name)
    ]
    monkeypatch.setattr(type(toy), "scan", lambda *_: iter(changed_copies))
    assert _codes(scan(toy, raw, KEY)) == {}


def test_the_card_can_ignore_files_and_its_reason_is_kept(toy, raw, write_case):
    write_case(raw, "stray")
    card = toy.folder / "card.toml"
    card.write_text(
        card.read_text().replace(
            'expect = { "*.png" = 8 }',
            'expect = { "*.png" = 8 }\nignore = { "stray*.png" = "thumbnails" }',
        )
    )
    source_scan = scan(load_source(toy.folder), raw, KEY)
    assert {problem.code for problem in source_scan.problems} == {"ignored-by-card"}
    assert {problem.message for problem in source_scan.problems} == {"thumbnails"}


def test_a_set_aside_file_that_is_not_there_is_absent(toy, raw):
    text = (toy.folder / "adapter.py").read_text()
    extra = '\n    yield Skip(key="gone", reason="no licence", paths=(root / "gone.png",))\n'
    (toy.folder / "adapter.py").write_text(text + extra)
    assert scan(toy, raw, KEY).absent == ("gone",)


def test_a_tree_of_no_layout_is_refused_with_the_nearest(toy, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"fits no layout: .*such as \*\.png\); it holds no file"):
        scan(toy, tmp_path / "empty", KEY)


@pytest.mark.parametrize(
    ("start", "root"),
    [
        ("data/raw", "data/raw"),
        ("data", "data/raw"),
        (".", "data/raw"),
        ("data/raw/films", "data/raw"),
        ("data/raw/films/deep", "data/raw/films/deep"),
        ("data/raw/notes", "data/raw/notes"),
    ],
)
def test_each_folder_is_listed_once_however_many_roots_are_tried(
    toy, tmp_path, listings, start, root
):
    layout = replace(toy.card.layouts[0], expect={"films/*.png": 3, "labels.csv": 1})
    source = replace(toy, card=replace(toy.card, layouts=(layout,)))
    base = tmp_path / "home"
    for name in ("films/a.png", "films/b.png", "films/deep/c.png", "labels.csv", "notes/a.txt"):
        file = base / "data" / "raw" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    time.sleep(0.05)  # a tree that was just written is looked at twice
    listings.clear()
    assert inspect_tree(source, base / start).root == base / root
    inside = {path: count for path, count in listings.items() if path.startswith(f"{base}/data/")}
    assert inside
    assert set(inside.values()) == {1}


def _add(source, line):
    file = source.folder / "adapter.py"
    file.write_text(f"{file.read_text()}\n    {line}\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("extra.dat", "names extra.dat, which is not a file name of this dataset"),
        ("/elsewhere/a.png", "names /elsewhere/a.png, which lies outside the raw root"),
    ],
)
def test_a_case_that_names_a_file_of_no_glob_is_set_aside_alone(toy, raw, name, message):
    (raw / "extra.dat").touch()
    whole = scan(toy, raw, KEY).cases
    _add(toy, f'yield Case(key="x", images=(ImageRef(paths=(root.path / "{name}",)),))')
    source_scan = scan(toy, raw, KEY)
    assert source_scan.cases == whole
    assert _codes(source_scan)["x"] == BAD_ROW
    assert [
        problem.message
        for problem in source_scan.problems
        if problem.case == "x" and message in problem.message
    ]


def test_a_file_beside_the_layout_that_an_adapter_opens_is_named(toy, raw):
    layout = toy.card.layouts[0].name
    assert undeclared_files(toy, raw, layout) == []
    (raw / "notes.dat").touch()
    _add(toy, '(root.path / "notes.dat").read_bytes()')
    assert undeclared_files(toy, raw, layout) == ["notes.dat"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Muller Anna", "(like Xxxxxx Xxxx)"),
        ("MULLER, Anna", "(like XXXXXX, Xxxx)"),
        ("MULLER^ANNA", "(like XXXXXX^XXXX)"),
        ("gone", "gone"),
        ("g (77)", "g (77)"),
        ("Muller mask", "Muller mask"),
    ],
)
def test_an_absent_picture_with_the_name_of_a_person_is_listed_by_its_shape(
    toy, raw, name, expected
):
    text = (toy.folder / "adapter.py").read_text()
    extra = (  # as if it stood in a table: words of the adapter itself are no names
        f'\n    name = bytes.fromhex("{name.encode().hex()}").decode()\n'
        '    yield Case(key=name, images=(ImageRef(paths=(root / f"{name}.png",)),))\n'
    )
    (toy.folder / "adapter.py").write_text(text + extra)
    source_scan = scan(toy, raw, KEY)
    assert source_scan.absent == (expected,)
    assert (name in source_scan.absent_files[0]) == (name == expected)


def test_a_case_with_an_implausible_number_is_set_aside_and_no_other(toy, raw):
    card, adapter = toy.folder / "card.toml", toy.folder / "adapter.py"
    reason = '{ reason = "it was measured", evidence = "a table" }'
    card.write_text(
        f'{card.read_text()}\n[[field]]\nname = "size"\nkind = "measure"\nunit = "mm"\n'
        f'plausible = [3, 80]\nbasis = "study"\n[field.reasons]\nbasis = {reason}\n'
        f"plausible = {reason}\n"
    )
    size = 'Quantity(field="size", value=50 + 10 * int(path.stem[3]), unit="mm", evidence="t:3 s=")'
    text = adapter.read_text().replace("Skip\n", "Quantity, Skip\n", 1)
    adapter.write_text(text.replace("regions=(", f"quantities=({size},), regions=(", 1))
    source_scan = scan(load_source(toy.folder), raw, KEY)
    assert _codes(source_scan) == {"p (4)": BAD_ROW, "p (5)": BAD_ROW}
    assert source_scan.problems[0].message.startswith("t:3 s: size is 90 mm; expected 3 to 80 mm")
    assert [case.quantities[0].value for case in source_scan.cases] == [50, 60, 70, 80]
