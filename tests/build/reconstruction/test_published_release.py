"""The release that MedRCube's authors published: matched by the rule of a card, never guessed."""

import json

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.reconstruction.outcomes import Status
from medrcube.build.reconstruction.published_release import adopt
from medrcube.build.reconstruction.safe_writes import stored_hash
from medrcube.errors import CardError, ReleaseError
from medrcube.release_format.images import FolderImages
from medrcube.sources._framework.card import load_card
from medrcube.sources.registry import find_sources

SOURCES = find_sources()
RULE = """
[[adopt]]
folder = "TOY"
picture = '(?P<label>[a-z])_(?P<number>[0-9]+)\\.png'
case = "{label} ({number})"
unproved = "a mask may be burnt in"
evidence = "two names"
"""


@pytest.fixture
def busi(tmp_path):
    """A raw tree of BUSI."""
    SOURCES["busi"].build_fixture(tmp_path / "busi", "original")
    return tmp_path / "busi"


@pytest.fixture
def published(tmp_path):
    """A tree in the form of the published release, without a picture."""
    tree = tmp_path / "published"
    _write(tree, "BUSI", "benign_277", "malignant_1", "benign_9999", "scan_12")
    _write(tree, "HC18", "1_HC")
    return tree


@pytest.fixture
def run(published, quiet):
    """Adopt: ``run(place=True, busi=ROOT)`` -> outcome of each picture, by its path."""

    def adopt_pictures(*, place=False, **roots):
        reconstruction = adopt(published, roots, SOURCES, LocalEngine(1), quiet, place=place)
        return {
            picture.image: picture
            for source in reconstruction.sources
            for picture in source.pictures
        }

    return adopt_pictures


def test_names_that_the_rule_knows_lead_to_cases_and_nothing_is_written(run, busi, published):
    before = _files(published)
    result = run(busi=busi)
    assert result["BUSI/pictures/benign_277.png"].case == "benign (277)"
    assert {name: value.status for name, value in result.items()} == {
        "BUSI/pictures/benign_277.png": Status.MATCHED_BY_NAME,
        "BUSI/pictures/malignant_1.png": Status.MATCHED_BY_NAME,
        "BUSI/pictures/benign_9999.png": Status.CASE_MISSING,
        "BUSI/pictures/scan_12.png": Status.NAME_NOT_UNDERSTOOD,
        "HC18/pictures/1_HC.png": Status.NO_RULE,
    }
    assert _files(published) == before


def test_what_is_placed_on_demand_is_called_unproved_and_unlike_the_published(run, busi, published):
    entry = run(place=True, busi=busi)["BUSI/pictures/benign_277.png"]
    assert entry.status is Status.PLACED_BY_NAME
    assert "by name, unproved" in entry.detail
    assert "has the mask in red" in entry.detail
    assert stored_hash(FolderImages(published), "BUSI/pictures/benign_277.png") is not None
    assert set(_files(published)) == {
        "PRIVATE.md",  # nobody is known to permit their redistribution
        "BUSI/test.json",
        "HC18/test.json",
        "BUSI/pictures/benign_277.png",
        "BUSI/pictures/malignant_1.png",
    }


def test_a_picture_that_is_there_is_never_touched_nor_called_proved(run, busi, published):
    picture = published / "BUSI/pictures/benign_277.png"
    picture.parent.mkdir()
    picture.write_bytes(b"of the authors")
    result = run(place=True, busi=busi)
    assert result["BUSI/pictures/benign_277.png"].status is Status.THERE_UNPROVED
    assert picture.read_bytes() == b"of the authors"


def test_of_a_source_without_rule_it_is_said_that_none_is_known(run):
    entry = run()["HC18/pictures/1_HC.png"]
    assert "no rule is known" in entry.detail
    assert "known: BUSI" in entry.detail


def test_nothing_is_placed_unless_that_is_asked_for(published, busi, quiet):
    before = _files(published)
    adopt(published, {"busi": busi}, SOURCES, LocalEngine(1), quiet)
    assert _files(published) == before


def test_the_rule_and_its_evidence_are_told(published, busi, quiet):
    first, _ = adopt(published, {"busi": busi}, SOURCES, LocalEngine(1), quiet).sources
    assert first.source == "busi"
    assert any("by name alone" in note and "benign_277.png" in note for note in first.notes)


def test_without_the_raw_data_it_says_how_to_get_them(published, quiet):
    first, _ = adopt(published, {}, SOURCES, LocalEngine(1), quiet).sources
    status = {picture.image: picture.status for picture in first.pictures}
    assert status["BUSI/pictures/benign_277.png"] is Status.SOURCE_NOT_GIVEN
    assert f"  1. {SOURCES['busi'].card.access.steps[0]}" in first.notes


def test_an_item_that_names_no_picture_is_told_by_its_id(run, published):
    items = json.loads((published / "HC18/test.json").read_text())
    del items[0]["image_path"]
    (published / "HC18/test.json").write_text(json.dumps(items))
    assert run()["HC18/0"].status is Status.NO_PICTURE_NAMED


def test_a_raw_picture_that_cannot_be_read_is_not_placed(run, busi, published):
    (busi / "benign/benign (277).png").write_bytes(b"no picture")
    entry = run(place=True, busi=busi)["BUSI/pictures/benign_277.png"]
    assert entry.status is Status.NOT_RENDERED
    assert "benign (277).png" in entry.detail
    assert not (published / entry.image).exists()


def test_a_release_with_recipes_is_not_adopted(run, published):
    (published / "recipes.jsonl").write_text("")
    with pytest.raises(ReleaseError, match="leave out --adopt"):
        run()


def test_a_folder_that_is_a_link_is_refused(run, busi, published, tmp_path):
    (tmp_path / "victim").mkdir()
    (published / "BUSI/pictures").symlink_to(tmp_path / "victim")
    with pytest.raises(ReleaseError, match="is a link"):
        run(place=True, busi=busi)
    assert not list((tmp_path / "victim").iterdir())


def test_only_busi_is_known_and_its_rule_gives_the_one_name_that_is_known():
    rules = {name: source.card.adopt for name, source in SOURCES.items() if source.card.adopt}
    ((rule,),) = rules.values()
    assert (set(rules), rule.folder) == ({"busi"}, "BUSI")
    assert rule.key("benign_277.png") == "benign (277)"
    assert rule.key("benign_277_mask.png") is None


def test_a_card_without_rule_has_none(toy_source):
    assert load_card(toy_source() / "card.toml").adopt == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0-9]+)", "[0-9]+", "a regular expression"),
        ("{label}", "{lable}", "the named groups"),
        ("{label}", "{label!r}", "the named groups"),
        ("{label}", "{label.x}", "the named groups"),
        ("({number})", "", "the named groups"),
        ("({number})", "{", "the named groups"),
        ('folder = "TOY"', 'folder = "../TOY"', "folder"),
        ('evidence = "two names"\n', "", "evidence"),
        ("unproved", "unprooved", "unprooved"),
    ],
)
def test_a_rule_that_is_not_well_formed_is_refused(toy_source, toy_card, old, new, message):
    assert load_card(toy_source(card=toy_card + RULE) / "card.toml").adopt
    assert RULE.replace(old, new) != RULE
    with pytest.raises(CardError, match=message):
        load_card(toy_source(card=toy_card + RULE.replace(old, new)) / "card.toml")


def _write(tree, folder, *names):
    items = [
        {
            "id": str(number), "dataset": folder, "image_path": f"pictures/{name}.png",
            "question": "What is it?", "option_A": "Malignant", "option_B": "Benign",
            "gt_answer": "Benign", "correct_index": 1, "task": "Disease Diagnosis",
            "modality": "Ultrasound", "parts": "Breast", "original_task": "classification",
            "restricted": False,
        }
        for number, name in enumerate(names)
    ]  # fmt: skip
    (tree / folder).mkdir(parents=True)
    (tree / folder / "test.json").write_text(json.dumps(items))


def _files(tree):
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }
