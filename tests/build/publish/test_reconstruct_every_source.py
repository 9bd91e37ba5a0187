"""A public release and the raw data give the private release, byte for byte, for every source."""

import json
from dataclasses import replace

import pytest

from medrcube.build.engine import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.publish.outcomes import Status
from medrcube.build.publish.placing import stored_hash
from medrcube.build.publish.reconstruct import reconstruct
from medrcube.build.release import release
from medrcube.records import Grade, Visible
from medrcube.sources.contract import Source
from medrcube.sources.registry import find_sources
from medrcube.workspace import BuildSettings, Workspace

pytestmark = pytest.mark.untraced


def _restricted(source):
    """The source as if its licence did not allow passing pictures on."""
    access = replace(source.card.access, redistribute=False)
    return Source(source.folder, replace(source.card, access=access))


SOURCES = {name: _restricted(source) for name, source in find_sources().items()}
OTHER_LAYOUTS = [
    (name, layout.name) for name, source in SOURCES.items() for layout in source.card.layouts[1:]
]


def _stopped_by_nothing(workspace):
    """Let a build go out whose only fault is that one source alone has uneven keys.

    Pictures are what is proved here, so every question that gives one is asked; a release for
    readers may not be made so.
    """
    told = json.loads(workspace.audit.read_text())
    assert [it for it in told["failures"] if not it.startswith("batch rule even-keys:")] == []
    workspace.audit.write_text(json.dumps({**told, "failures": []}))


@pytest.fixture
def released(tmp_path, quiet):
    """Build the fixture of a source and write both editions: ``(raw, public, private)``."""

    def make(source):
        raw = tmp_path / "raw"
        source.build_fixture(raw, source.card.layouts[0].name)
        settings = BuildSettings(
            evidence=Grade.C, items_per_cell=0, least_visible=Visible.NO, even_keys=False
        )
        workspace = Workspace(root=tmp_path / "w", settings=settings, sources={source.id: raw})
        build(workspace, SOURCES, LocalEngine(1), quiet)
        _stopped_by_nothing(workspace)
        for edition in ("public", "private"):
            out = tmp_path / edition
            told = release(
                workspace, SOURCES, out, name="x", allow_unreviewed=True,
                private=edition == "private",
            )  # fmt: skip
            assert (told.withheld > 0) == (edition == "public")
        return raw, tmp_path / "public", tmp_path / "private"

    return make


@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_a_public_release_and_the_raw_data_give_the_private_release(source, released, quiet):
    raw, public, private = released(source)
    assert files_of(public) != files_of(private)
    done = reconstruct(public, {source.id: raw}, SOURCES, LocalEngine(1), quiet)
    assert done.short == 0, list(done.reasons(3))
    assert files_of(public) == files_of(private)


@pytest.mark.parametrize(("name", "layout"), OTHER_LAYOUTS)
def test_another_layout_gives_the_published_pixels_or_says_why_not(
    name, layout, released, tmp_path, quiet
):
    source = SOURCES[name]
    _, public, private = released(source)
    other = tmp_path / "other"
    source.build_fixture(other, layout)
    (told,) = reconstruct(public, {name: other}, SOURCES, LocalEngine(1), quiet).sources
    published = files_of(private)
    assert told.pictures
    for outcome in told.pictures:
        if outcome.status in (Status.REBUILT, Status.ALREADY_THERE):
            assert (public / outcome.image).read_bytes() == published[outcome.image]
            assert outcome.detail == ""
        else:
            assert f"this copy has layout '{layout}'" in outcome.detail
            assert stored_hash(public / outcome.image) is None


def files_of(tree):
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }
