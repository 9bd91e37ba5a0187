import hashlib

import pytest

from medrcube.build.source_checks.source_check import check_source
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources

FIXTURE = """\
from PIL import Image

from medrcube.sources._synthetic import images


def bare(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype("uint8")).save(path)


def build(root, layout):
    for number, letter in enumerate("ggmmpp"):
        key = f"{letter} ({number})"
        images.write_picture(root / f"{key}.png", images.picture(96, 112, seed=number))
        mask = images.lesion(96, 112, seed=number)
        images.write_picture(root / f"{key}_mask.png", mask)
"""

EXPECT = 'expect.pictures = { "*.png" = 8 }\nexpect.ages = { "ages.csv" = 1 }'


@pytest.fixture
def change(toy):
    """Change a text in a file of the toy source: ``change(file, old, new)``."""
    (toy.folder / "fixture.py").write_text(FIXTURE)
    card = toy.folder / "card.toml"
    card.write_text(card.read_text().split("[[quirk]]")[0])

    def replace(file, old, new):
        path = toy.folder / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return replace


@pytest.fixture
def checked(toy, change):
    """Check the toy source, with one more text changed: ``checked(file, old, new)``."""

    def run(*text):
        if text:
            change(*text)
        checks = check_source(load_source(toy.folder))
        return {check.name: check.failures for check in checks if check.failures}

    return run


def test_a_source_that_keeps_its_contract_has_no_failures(checked):
    assert checked() == {}


def test_why_a_declared_task_has_no_item_is_told(checked):
    failures = checked("card.toml", 'visible = "yes"', 'visible = "no"')
    entries = failures["every declared cell is reached, and no other"]
    assert (
        "declared, but no fixture gives an item for Brain / MRI / Disease Diagnosis: " in entries[0]
    )
    assert all("not-visible (" in line for line in entries)


def test_a_label_of_a_constant_field_is_told_to_be_left_out(checked):
    failures = checked("card.toml", "values = {", 'constant = "glioma"\n# {')
    (entry,) = [failure for entries in failures.values() for failure in entries]
    assert "field 'tumour' is the constant 'glioma'" in entry
    assert "do not yield it in adapter.py" in entry


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("card.toml", '"glioma"', '"glioma of nobody"', "glioma of nobody"),
        ("card.toml", 'g = "glioma",', 'g = "glioma", z = "",', "no fixture uses the value 'z'"),
        ("adapter.py", "key=path.stem", 'modality="CT", key=path.stem', "not declared, but"),
        ("card.toml", "[case]", "[names]\nstray = ['g']\n[case]", "never asks for [names] stray"),
        ("card.toml", '"Modality Rec', '"View Recognition", "Modality Rec', "declared, but no"),
        ("card.toml", '"Modality Rec', '"View Recognition", "Modality Rec', "no field states"),
        ("fixture.py", "_mask.png", "_msk.png", "no case of layout 'flat' uses this file"),
        ("adapter.py", "key=path.stem", 'key="CANARY" + path.stem', "the identifier 'CANARY'"),
        ("adapter.py", '"CANARY-" + path.stem', '"P0"', "calls a patient 'P0', which other text"),
        ("adapter.py", '"CANARY-" + path.stem', "None", "cases of its fixture has a patient"),
        ("adapter.py", "letter = path.name[0]", "letter = path[0]", "raised TypeError: "),
        ("adapter.py", "letter = path.name[0]", "letter = 'q'", "'q' of field 'tumour'"),
        ("adapter.py", "key=path.stem", 'window="ct:fat", key=path.stem', "the window 'ct:fat'"),
    ],
)
def test_a_broken_promise_is_told_in_one_sentence(checked, file, old, new, says):
    failures = [failure for entries in checked(file, old, new).values() for failure in entries]
    assert any(says in failure for failure in failures), failures


@pytest.mark.few(1)
@pytest.mark.parametrize("key", ["P0", "p-0", "(P 0)"])
def test_a_key_that_is_made_of_a_short_identifier_is_named(change, checked, key):
    change("adapter.py", '"CANARY-" + path.stem', '"P0"')
    failures_by_check = checked("adapter.py", "key=path.stem", f'key=path.stem + "-{key}"')
    assert any(
        "seems to be named by it" in entry for some in failures_by_check.values() for entry in some
    ), failures_by_check


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "key",
    [
        *("Erika Muster-42", "ERIKA_MUSTER_42", "erikamuster42", "24-retsuM akirE"),
        *("4572696b61204d75737465722d3432", "RXJpa2EgTXVzdGVyLTQy"),
        hashlib.md5(b"Erika Muster-42", usedforsecurity=False).hexdigest(),
    ],
)
def test_an_identifier_is_found_in_any_spelling(change, checked, key):
    change("adapter.py", '"CANARY-" + path.stem', '"Erika Muster-42"')
    failures_by_check = checked("adapter.py", "key=path.stem", f'key=path.stem + "{key}"')
    leaked = failures_by_check["no identifier reaches an output"]
    assert any(".png" in text for text in leaked)
    assert any("samples.parquet" in text for text in leaked)
    assert all("'Erika Muster-42'" in text for text in leaked)


@pytest.mark.thorough
def test_an_identifier_that_only_some_cases_give_is_searched_for_in_the_others(change, checked):
    """The fixture names six people in a table; the adapter gives one, and names the others."""
    table = (
        r'    (root / "people.txt").write_text("\n".join(f"PAT-00471{n} CANARY" for n in range(6)))'
        "\n"
    )
    change("fixture.py", "def build(root, layout):\n", f"def build(root, layout):\n{table}")
    some = 'patient="PAT-004710" if "0" in path.stem else None'
    change("adapter.py", 'patient="CANARY-" + path.stem', some)
    assert "no identifier reaches an output" not in checked()
    failures_by_check = checked("adapter.py", "key=path.stem", 'key=path.stem + "PAT004713"')
    leaked = failures_by_check["no identifier reaches an output"]
    assert any("'PAT-004713'" in text for text in leaked)


def test_what_the_publisher_calls_a_file_is_no_secret(checked):
    assert checked("adapter.py", '"CANARY-" + path.stem', "path.stem") == {}


def test_a_fixture_without_a_canary_proves_nothing(change, checked):
    change("adapter.py", '"CANARY-" + path.stem', "path.stem")
    failures_by_check = checked("fixture.py", "images.write_picture(", "bare(")
    assert list(failures_by_check) == ["its fixture holds identifiers that can be searched for"]
    assert checked("card.toml", 'patient = "known"', 'patient = "unknown"') == {}


@pytest.mark.thorough
def test_a_real_source_passes():
    checks = check_source(find_sources()["busi"])
    assert [check.failures for check in checks] == [()] * len(checks)


@pytest.mark.thorough
def test_an_adapter_that_one_row_of_a_table_ends_breaks_its_contract(change, checked):
    table = '    (root / "ages.csv").write_text("who,age\\nQuux,41\\nQuuz,42\\n")\n'
    statement = (
        '    [int(row["age"]) for row in read_csv(root.part("ages")[0], columns=("age",))]\n'
    )
    change("fixture.py", "def build(root, layout):\n", f"def build(root, layout):\n{table}")
    change("card.toml", 'expect = { "*.png" = 8 }', EXPECT)
    reader = "from medrcube.sources._formats.tables.tables import read_csv\n\ndef cases"
    change("adapter.py", "def cases", reader)
    failures_by_check = checked(
        "adapter.py", "    for path in sorted", f"{statement}    for path in sorted"
    )
    assert list(failures_by_check) == ["a row that cannot be used ends no scan"]


@pytest.mark.thorough
@pytest.mark.parametrize(("cell", "expected"), [("row.quote('age')", False), ("row['age']", True)])
def test_what_is_told_of_damaged_copies_is_searched_for_identifiers(
    change, checked, cell, expected
):
    """The fixture is whole; only in a shifted row the name of a person stands under ``age``."""
    table = '    (root / "ages.csv").write_text("who,age\\nPerson Nobody Quux,41\\n")\n'
    statement = (
        '    for row in tables.read_csv(root.part("ages")[0], columns=("who", "age")):\n'
        '        if not row["age"].isdecimal():\n'
        f'            yield Skip(key=row.place, reason=f"{{{cell}}}: expected a number")\n'
    )
    change("fixture.py", "def build(root, layout):\n", f"def build(root, layout):\n{table}")
    change("card.toml", 'expect = { "*.png" = 8 }', EXPECT)
    change(
        "adapter.py",
        "def cases",
        "from medrcube.sources._formats.tables import tables\n\ndef cases",
    )
    change("adapter.py", "    for path in sorted", f"{statement}    for path in sorted")
    failures_by_check = checked(
        "adapter.py", 'patient="CANARY-" + path.stem', 'patient="Person Nobody Quux"'
    )
    leaked = failures_by_check.get("no identifier reaches an output", ())
    assert any("cells shifted to the right" in text for text in leaked) == expected
