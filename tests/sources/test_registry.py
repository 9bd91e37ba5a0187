import re
import sys
from importlib.metadata import EntryPoint

import pytest

from medrcube.errors import CardError, MedrcubeError, SourceError
from medrcube.facts import BAD_ROW, Case, Skip
from medrcube.sources import registry
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.contract import load_source
from medrcube.sources.registry import find_sources, get_source


def test_finding_the_sources_of_the_package_imports_no_adapter():
    before = set(sys.modules)
    assert "busi" in find_sources()
    assert not [name for name in set(sys.modules) - before if name.endswith("_adapter")]


def test_a_folder_of_ones_own_adds_its_sources(toy_source):
    assert "toy" in find_sources([toy_source().parent])


def test_an_installed_plug_in_adds_its_sources(toy_source, monkeypatch):
    parent = toy_source().parent
    monkeypatch.syspath_prepend(parent.parent)
    (parent.parent / "plugin_for_test.py").write_text(f"folder = {str(parent)!r}\n")
    point = EntryPoint("x", "plugin_for_test:folder", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **_group: [point])
    assert "toy" in find_sources()


def test_an_id_that_is_taken_is_refused(toy_source, toy_card):
    folder = toy_source(card=toy_card.replace('id = "toy"', 'id = "busi"'), name="busi")
    with pytest.raises(CardError, match="'busi' is already taken"):
        find_sources([folder.parent])


def test_a_folder_name_must_carry_the_id(toy_source):
    folder = toy_source(name="other")
    with pytest.raises(CardError, match="belongs in a folder named 'toy'"):
        load_source(folder)


def test_a_folder_without_sources_is_an_error_that_shows_the_shape(tmp_path):
    with pytest.raises(MedrcubeError, match="holds no source"):
        find_sources([tmp_path])
    with pytest.raises(MedrcubeError, match="gone: no such folder"):
        find_sources([tmp_path / "gone"])


def test_a_misspelt_id_names_the_nearest():
    with pytest.raises(MedrcubeError, match="did you mean 'busi'"):
        get_source(find_sources(), "bussi")


def _scan(folder, root, *pictures):
    for name in pictures:
        (root / name).touch()
    return list(load_source(folder).scan(root, "flat"))


@pytest.fixture
def raw(tmp_path):
    root = tmp_path / "raw"
    root.mkdir()
    return root


def test_an_adapter_yields_checked_cases(toy_source, raw):
    results = _scan(toy_source(), raw, "b.png", "a.png")
    assert [case.key for case in results] == ["a", "b"]
    assert all(isinstance(case, Case) for case in results)


UNKNOWN_FIELD = """\
image = ImageRef(paths=(root / "a",))
label = Label(field="f", value="v", evidence="t.csv:3 f=v")
yield Case(key="x", images=(image,), labels=(label,))"""


TWICE = 'yield Case(key="x", images=(ImageRef(paths=(root / "{}",)),))\n'


@pytest.mark.parametrize(
    ("second", "expected"), [("a.png", [Case]), ("b.png", [Skip])], ids=["the same", "another"]
)
def test_cases_of_one_key_are_one_or_are_set_aside(toy_source, raw, second, expected):
    text = (
        "from medrcube.facts import Case, ImageRef\n\ndef cases(tree, layout):\n"
        f"    root = tree.path\n    {TWICE.format('a.png')}    {TWICE.format(second)}"
    )
    source = load_source(toy_source(adapter=text))
    entries = list(source.scan(raw, "flat"))
    assert [type(entry) for entry in entries] == expected
    assert all(
        "two cases have the key 'x'" in entry.reason for entry in entries if type(entry) is Skip
    )
    assert all(len(entry.paths) == 2 for entry in entries if type(entry) is Skip)


def test_two_copies_in_one_root_are_named_as_two_copies(toy_source, raw):
    for folder in ("first/set", "second/set"):
        (raw / folder).mkdir(parents=True)
        (raw / folder / "c.png").touch()
    text = (
        "from medrcube.facts import Case, ImageRef\n\ndef cases(tree, layout):\n"
        "    for folder in ('first', 'second'):\n"
        "        film = tree.path / folder / 'set/c.png'\n"
        "        yield Case(key='x', images=(ImageRef(paths=(film,)),))\n"
    )
    (entry,) = load_source(toy_source(adapter=text)).scan(raw, "flat")
    assert "the dataset is here twice: first and second hold" in entry.reason


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('yield Case(key="x", images=())', "has no image file"),
        (
            UNKNOWN_FIELD,
            "t.csv:3 f: field 'f' is not in the card",
        ),
    ],
)
def test_an_adapter_that_breaks_its_contract_is_stopped(toy_source, raw, body, says):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = (
        f"from medrcube.facts import Case, ImageRef, Label\n\ndef cases(tree, layout):\n"
        f"    root = tree.path\n{lines}\n"
    )
    with pytest.raises(SourceError, match=says):
        _scan(toy_source(adapter=text), raw)


def test_a_raw_value_that_the_card_does_not_map_sets_its_case_aside_and_cites_its_place(
    toy_source, toy_card, reasoned, raw
):
    card = toy_card + (
        '\n[[field]]\nname = "finding"\nkind = "finding"\nabsence = "silent"\n'
        'values = { Edema = "Edema" }\n'
    )
    adapter = """
from medrcube.facts import Case, ImageRef, Label

def cases(root, layout):
    label = Label(field="finding", value="Oedema", evidence="t.csv:7 Finding=Oedema")
    yield Case(key="x", images=(ImageRef(paths=(root / "a.png",)),), labels=(label,))
"""
    (skip,) = _scan(toy_source(card=reasoned(card), adapter=adapter), raw)
    assert (skip.key, skip.code) == ("x", BAD_ROW)
    assert re.search(r"t.csv:7 .*'Oedema'.*known: 'Edema'", skip.reason)
    assert skip.reason.endswith('[values.toy.finding]  "Oedema" = ""')


def test_an_adapter_without_cases_is_named(toy_source, raw):
    with pytest.raises(CardError, match=r"function cases\(\) is missing"):
        _scan(toy_source(adapter="x = 1\n"), raw)


def test_a_missing_fixture_file_is_named(toy_source, raw):
    with pytest.raises(CardError, match=r"fixture\.py: is missing"):
        load_source(toy_source()).build_fixture(raw, "flat")


def test_an_adapter_that_cannot_be_imported_is_not_half_remembered(toy_source, raw):
    source = load_source(toy_source(adapter="raise RuntimeError('no')\n"))
    for _ in range(2):
        with pytest.raises(SourceError, match="RuntimeError: no"):
            list(source.scan(raw, "flat"))


def test_quirks_name_cases_by_glob(toy_source, toy_card):
    card = toy_card + (
        '\n[[quirk]]\nkeys = ["a*"]\naction = "drop"\nreason = "bad"\nevidence = "e"\n'
    )
    source = load_source(toy_source(card=card))
    assert quirk_of(source.card, "abc", "drop").reason == "bad"
    assert quirk_of(source.card, "xbc", "drop") is None
    assert quirk_of(source.card, "abc", "undiagnosed") is None
