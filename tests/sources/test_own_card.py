"""What an adapter asks its own card for, and what a card may say there."""

from pathlib import Path

import pytest

from medrcube.build.stages.plan import plan_jobs
from medrcube.errors import CardError
from medrcube.facts import Case, ImageRef
from medrcube.sources._framework.card import load_card
from medrcube.sources._framework.card_parts.values import uncommented_keys
from medrcube.sources._framework.contract import load_source, unused_card_keys
from medrcube.sources._framework.own_card import own_card
from medrcube.sources.registry import find_sources

SOURCES = find_sources()
CASE = Case(key="a", images=(ImageRef(paths=(Path("a.png"),)),))
CARD_TEXT = r"""
[numbers]
side_px = 1024 # counted
window_hu = [-950, 400] # the paper

[names]
stray = ["film1", "film2"] # looked at

[patterns]
film = '^film(?P<number>\d+)|poster$'
"""
ASKING = """\
from medrcube.sources._framework.own_card import own_card

CARD = own_card(__file__)
SIDE = CARD.integer("side_px")


def cases(root, layout):
    return iter(())


def frames(case, volume):
    return [SIDE]
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "card.toml").write_text(CARD_TEXT)
    return own_card(str(tmp_path / "adapter.py"))


def test_an_adapter_asks_its_card_by_name_and_kind(own):
    assert own.integer("side_px") == 1024
    assert own.number("side_px") == 1024.0
    assert own.numbers("window_hu", 2) == (-950, 400)
    assert own.names("stray") == ("film1", "film2")
    assert own.pattern("film", "number").fullmatch("film12")["number"] == "12"
    assert own.unasked() == []


def test_a_pattern_fits_whole_names_only_whatever_its_alternatives(own):
    film = own.pattern("film", "number")
    assert film.search("poster")
    assert not film.search("film12.png")
    assert not film.match("a poster")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda entry: entry.integer("side"),
            r"card.toml: key 'numbers.side' is missing .*'side_px'",
        ),
        (lambda entry: entry.integer("window_hu"), "numbers.window_hu': expected a whole number"),
        (lambda entry: entry.numbers("window_hu", 3), "expected a list of 3 finite numbers"),
        (lambda entry: entry.names("side_px"), "key 'names.side_px' is missing"),
        (lambda entry: entry.pattern("film"), "expected the groups none, .* found 'number'"),
        (lambda entry: entry.pattern("film", "label"), "expected the groups label"),
    ],
)
def test_what_the_card_does_not_say_is_named_with_its_path(own, ask, says):
    with pytest.raises(CardError, match=says):
        ask(own)


def test_keys_that_nobody_asks_for_are_named(own):
    own.integer("side_px")
    own.names("stray")
    assert own.unasked() == ["[numbers] window_hu", "[patterns] film"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1024 ", '"1024" ', "numbers.side_px': expected a number"),
        ("1024 ", "true ", "numbers.side_px': expected a number"),
        ("1024 ", "inf ", "numbers.side_px': expected a finite number"),
        ("[-950, 400]", "[]", "numbers.window_hu': expected a list"),
        ("[-950, 400]", "[nan]", "numbers.window_hu': expected a list"),
        ("side_px", "Side", "numbers.Side': expected a name of lower-case letters"),
        ('"film2"', '"film1"', "names.stray': expected texts that are not empty, each once"),
        ('"film2"', "2", "names.stray': expected a list of strings"),
        ("'^film", "'film", "patterns.film': expected a regular expression from"),
        ("poster$", r"poster\$", "patterns.film': expected a regular expression from"),
        ("(?P<number>", "(", "patterns.film': expected groups with names"),
        ("+)", "+", r"patterns.film': expected a regular expression \("),
    ],
)
def test_a_mistake_in_what_an_adapter_may_ask_for_is_named(tmp_path, toy_card, old, new, says):
    path = tmp_path / "card.toml"
    assert old in CARD_TEXT
    path.write_text(toy_card + CARD_TEXT.replace(old, new))
    with pytest.raises(CardError, match=says):
        load_card(path)


def test_a_number_without_a_comment_is_named(toy_card):
    text = CARD_TEXT.replace(" # counted", "").replace("[names]\n", "[names]\n# looked at\n")
    keys = {"numbers": ("side_px", "window_hu"), "names": ("stray",)}
    assert list(uncommented_keys(toy_card + text, keys)) == ["[numbers] side_px"]


def test_a_changed_number_reaches_the_adapter_and_its_pictures_at_once(toy_source, toy_card):
    def of(side):
        text = f"{toy_card}\n[numbers]\nside_px = {side} # counted\n"
        source = load_source(toy_source(card=text, adapter=ASKING))
        (job,) = plan_jobs(source, source.folder, [CASE])
        return source.hook("frames")(None, None), job.hooks

    (before, old), (after, new) = of(3), of(4)
    assert (before, after) == ([3], [4])
    assert old != new


@pytest.mark.parametrize("name", SOURCES)
def test_a_shipped_adapter_asks_for_all_that_its_card_names_and_each_has_its_source(name):
    source = SOURCES[name]
    keys = {"numbers": tuple(source.card.numbers), "names": tuple(source.card.names)}
    assert unused_card_keys(source) == []
    text = (source.folder / "card.toml").read_text(encoding="utf-8")
    assert list(uncommented_keys(text, keys)) == []
