"""What is said of raw files, policies and layouts that are others than those of the release."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.reconstruction.diagnosis import (
    changes_of,
    diagnose,
    recorded_policy,
    same_layout,
)
from medrcube.build.reconstruction.outcomes import Status
from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.facts import Case, ImageRef, MaskFile, QuarantineRow, Region
from medrcube.sources._framework.card_parts.pixels import PixelPolicy

CLEAN = Artefact(kind="clean")
POLICY = PixelPolicy(
    window="bits", slice="middle", plane="axial", orient="affine", spacing="header", colour="keep"
)
ROOT = Path("/raw")


def digest(content: int) -> str:
    return hashlib.sha256(bytes([content])).hexdigest()


def recipe(files, **keys):
    """A recipe made of files, name -> content; the first of them holds the image."""
    return Recipe(
        sample="0" * 16,
        source="toy",
        case="g",
        image="TOY/pictures/g.png",
        pixel_sha256="f" * 64,
        restricted=True,
        artefact=CLEAN,
        frames=(3,),
        files={name: digest(content) for name, content in files.items()},
        first=next(iter(files)),
        record={"mark": {}, **keys},
    )


def job_of(names, artefacts=(CLEAN,)):
    """A job of a case whose first file is the image, the others masks."""
    first, *others = (ROOT / name for name in names)
    regions = tuple(
        Region(field="region", value="g", shape=MaskFile(paths=(path,)), evidence="row")
        for path in others
    )
    return RenderJob(
        source="toy",
        folder=ROOT,
        root=ROOT,
        case=Case(key="g", images=(ImageRef(paths=(first,)),), regions=regions),
        concepts=tuple("glioma" for _ in regions),
        policy=POLICY,
        plane="axial",
        artefacts=artefacts,
        name="g",
    )


def diagnosed(was, now, *, problems=(), artefacts=(CLEAN,), changes=(), **keys):
    """The outcome where the release was made of some files and this copy holds others."""
    rendered = RenderResult(
        case="g",
        digests=tuple((str(ROOT / name), digest(content)) for name, content in now.items()),
        problems=tuple(problems),
    )
    return diagnose(recipe(was, **keys), job_of(now, artefacts), rendered, None, changes)


CONTENTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 4), min_size=1, max_size=5)


@given(was=CONTENTS, now=CONTENTS)
def test_files_are_others_exactly_if_their_contents_are(was, now):
    outcome = diagnosed(was, now)
    alike = sorted(was.values()) == sorted(now.values())
    assert (outcome.status is Status.RAW_FILE_DIFFERS) is (not alike and bool(outcome.raw))
    if alike:
        assert not outcome.raw
    lost, new = set(was.values()) - set(now.values()), set(now.values()) - set(was.values())
    recorded = [file.recorded for file in outcome.raw if file.recorded]
    assert sorted(recorded) == sorted(digest(c) for c in was.values() if c in lost)
    founds = {file.found for file in outcome.raw if file.found}
    assert founds >= {digest(content) for content in new}


def test_a_file_of_other_content_is_told_with_both_digests():
    outcome = diagnosed({"a": 1, "m": 2}, {"a": 1, "m": 3})
    (file,) = outcome.raw
    assert (file.name, file.recorded, file.found) == ("m", digest(2), digest(3))
    assert file.found_name is None
    assert outcome.detail.startswith(
        f"m: SHA-256 is {digest(3)}, the release recorded {digest(2)};"
    )


def test_an_image_of_other_name_and_content_is_held_against_that_of_the_release():
    outcome = diagnosed({"a": 1, "m": 2}, {"b": 3, "m": 2})
    (file,) = outcome.raw
    assert (file.name, file.found_name, file.found) == ("a", "b", digest(3))
    assert outcome.detail.startswith("a (b here): SHA-256 is")


def test_files_that_came_and_went_are_told_and_the_others_counted():
    assert diagnosed({"a": 1}, {"a": 1, "m": 2}).detail == (
        "m: belongs to the case here and did not in the release"
    )
    assert diagnosed({"a": 1, "m": 2}, {"a": 1}).detail == (
        "m: belonged to the case in the release and does not here"
    )
    assert diagnosed({"a": 1, "m": 2, "n": 3}, {"a": 1}).detail.endswith(
        "does not here (and 1 more)"
    )


def test_files_under_other_names_are_no_difference():
    assert not diagnosed({"a": 1, "m": 2}, {"x": 1, "y": 2}).raw


def test_of_a_file_that_differs_and_a_failure_the_file_is_told():
    failure = QuarantineRow(source="toy", case="g", stage="render", code="c", message="too dark")
    assert diagnosed({"a": 1}, {"a": 2}, problems=[failure]).status is Status.RAW_FILE_DIFFERS
    outcome = diagnosed({"a": 1}, {"a": 1}, problems=[failure], changes=("the card has changed",))
    assert outcome.status is Status.NOT_RENDERED
    assert outcome.detail == "too dark; the card has changed"
    assert outcome.stage == ""


def test_a_mark_that_could_not_be_drawn_is_no_failure_to_render():
    failure = QuarantineRow(source="toy", case="g", stage="compose", code="c", message="no room")
    outcome = diagnosed({"a": 1}, {"a": 1}, problems=[failure])
    assert (outcome.status, outcome.stage, outcome.detail) == (
        Status.HASH_DIFFERS,
        "overlay",
        "no room",
    )


def test_a_picture_that_is_not_planned_or_of_another_slice_is_told():
    assert diagnosed({"a": 1}, {"a": 1}, artefacts=()).stage == "plan"
    outcome = diagnosed({"a": 1}, {"a": 1})
    assert (outcome.stage, outcome.detail) == ("slice", "frame 3 in the release, none now")


def test_the_first_key_of_a_policy_that_differs_is_told_before_the_slice():
    was = {**asdict(POLICY), "window": "x" * 400, "slice": "all"}
    outcome = diagnosed({"a": 1}, {"a": 1}, origin={"policy": was})
    assert outcome.stage == "card"
    excerpt = f"'{'x' * 156}... in the release, 'bits' now"
    assert outcome.detail == f"the card's pixels.window: {excerpt}"
    assert len(f"'{'x' * 156}...") == 160
    short = diagnosed({"a": 1}, {"a": 1}, origin={"policy": {**was, "window": "x" * 158}})
    assert short.detail == f"the card's pixels.window: '{'x' * 158}' in the release, 'bits' now"


def test_keys_that_the_recorded_policy_lacks_are_no_difference():
    assert diagnosed({"a": 1}, {"a": 1}, origin={"policy": {"slice": "middle"}}).stage == "slice"
    assert diagnosed({"a": 1}, {"a": 1}, origin={"policy": "bits"}).stage == "slice"


def test_what_of_a_source_has_changed_is_told_as_far_as_it_was_recorded():
    now = {"layout": "new", "card": "c1", "adapter": "a1"}
    assert changes_of(recipe({"a": 1}), now) == ()
    assert changes_of(recipe({"a": 1}, origin=now), now) == ()
    assert changes_of(recipe({"a": 1}, origin="new"), now) == ()
    others = {"layout": "old", "card": "c0", "adapter": "a0"}
    layout, card, adapter, advice = changes_of(recipe({"a": 1}, origin=others), now)
    assert "install the version of medrcube" in advice
    assert layout == "the release was made of layout 'old', this copy has layout 'new'"
    assert card == "the card of toy has changed since the release: digest 'c0' then, 'c1' now"
    assert adapter.startswith("the adapter of toy has changed")


@pytest.mark.parametrize(
    ("origin", "same"),
    [({"layout": "new"}, True), ({"layout": "old"}, False), ({}, True), (None, True)],
)
def test_a_layout_that_was_not_recorded_counts_as_the_same(origin, same):
    assert same_layout(recipe({"a": 1}, origin=origin), "new") is same


def test_the_policy_of_a_release_is_read_with_defaults_for_younger_keys():
    older = {name: value for name, value in asdict(POLICY).items() if name != "burnt_in"}
    assert recorded_policy(recipe({"a": 1}, origin={"policy": older})) == POLICY
    wide = replace(POLICY, window="ct:lung")
    assert recorded_policy(recipe({"a": 1}, origin={"policy": asdict(wide)})) == wide
    for policy in (None, "bits", {**older, "window": 7}, {**older, "unknown": "key"}):
        assert recorded_policy(recipe({"a": 1}, origin={"policy": policy})) is None
