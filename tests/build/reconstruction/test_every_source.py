"""A public release and the raw data give the private release, byte for byte, for every source."""

import contextlib
import json
import shutil
from dataclasses import replace

import pytest

from medrcube.build import batch_outcome
from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.reconstruction.needed_files import needed_files
from medrcube.build.reconstruction.outcomes import Status
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.build.reconstruction.safe_writes import stored_hash
from medrcube.build.release import write
from medrcube.console.progress import Reporter
from medrcube.facts import Visibility
from medrcube.files.atomic import sha256_of
from medrcube.release_format.images import FolderImages
from medrcube.sources._framework.contract import Source, load_source
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.untraced


def _restricted(source):
    """The source as if its licence did not allow passing pictures on."""
    access = replace(source.card.access, redistribute=False)
    return Source(source.folder, replace(source.card, access=access))


SOURCES = {name: _restricted(source) for name, source in find_sources().items()}
WHOLE = ("acdc", "busi", "cbis-ddsm", "lidc-idri")
OTHER_LAYOUTS = [
    (name, layout.name) for name, source in SOURCES.items() for layout in source.card.layouts[1:]
]


def _stopped_by_nothing(workspace):
    """Let a build go out whose only fault is that one source alone has uneven keys.

    Pictures are what is proved here, so every question that gives one is asked; a release for
    readers may not be made so.
    """
    audit = json.loads(workspace.audit.read_text())
    assert [
        failure for failure in audit["failures"] if not failure.startswith("batch rule even-keys:")
    ] == []
    workspace.audit.write_text(json.dumps({**audit, "failures": []}))


@contextlib.contextmanager
def _without_audit_of(source):
    """Leave out the audits and the contracts of a release, which cost more than all the rest.

    They are of the batch: none knows which images an edition holds, and reconstruction reads none.
    The releases of ``WHOLE`` have them.
    """
    with pytest.MonkeyPatch.context() as patch:
        if source.id not in WHOLE:
            patch.setattr(batch_outcome, "audit_batch", lambda *_: {"failures": []})
            for name in ("write_audit", "write_validation_record"):
                patch.setattr(write, name, lambda *_, **__: None)
        yield


@pytest.fixture(scope="module")
def pressed(built_layout, tmp_path_factory):
    """Write both editions of a source once: ``(raw, public, private)``; never change any.

    The build starts from the images of ``built_layout``; it asks more of them.
    """
    cache = {}

    def press(source):
        if source.id in cache:
            return cache[source.id]
        root = tmp_path_factory.mktemp(source.id)
        first_workspace = built_layout(source.id, source.card.layouts[0].name)
        shutil.copytree(first_workspace.root, root / "w")
        settings = replace(first_workspace.settings, least_visible=Visibility.NO, viewer=False)
        workspace = replace(first_workspace, root=root / "w", settings=settings)
        with _without_audit_of(source):
            build(workspace, SOURCES, LocalEngine(1), Reporter(quiet=True))
        _stopped_by_nothing(workspace)
        for edition in ("public", "private"):
            with _without_audit_of(source):
                report = write.release(
                    workspace, SOURCES, root / edition, name="x", allow_unreviewed=True,
                    private=edition == "private",
                )  # fmt: skip
            assert (report.withheld > 0) == (edition == "public")
        shutil.rmtree(workspace.root)
        cache[source.id] = first_workspace.sources[source.id], root / "public", root / "private"
        return cache[source.id]

    return press


@pytest.fixture
def released(pressed, tmp_path):
    """The same with a copy of the public edition, which a test may change."""

    def copy(source):
        raw, public, private = pressed(source)
        return raw, shutil.copytree(public, tmp_path / "public"), private

    return copy


@pytest.mark.thorough
@pytest.mark.parametrize("name", WHOLE)
def test_a_public_release_and_the_raw_data_give_the_private_release(name, released, quiet):
    """With all files of a copy; of each source, with those that are needed, see below."""
    source = SOURCES[name]
    raw, public, private = released(source)
    assert files_of(public) != files_of(private)
    reconstruction = reconstruct(public, {source.id: raw}, SOURCES, LocalEngine(1), quiet)
    assert reconstruction.short == 0, list(reconstruction.reasons(3))
    assert files_of(public) == files_of(private)


@pytest.mark.thorough
@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_a_copy_of_the_files_that_are_needed_gives_the_private_release(
    source, released, tmp_path, quiet
):
    raw, public, private = released(source)
    copy = _only_needed(raw, public, tmp_path / "copy", quiet)
    reconstruction = reconstruct(public, {source.id: copy}, SOURCES, LocalEngine(1), quiet)
    assert reconstruction.short == 0, list(reconstruction.reasons(3))
    assert files_of(public) == files_of(private)


@pytest.mark.thorough
@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_the_files_that_one_case_needs_give_its_pictures(source, pressed, tmp_path, quiet):
    raw, _, private = pressed(source)
    tree = shutil.copytree(private, tmp_path / "tree")
    recipes = [json.loads(line) for line in (tree / "recipes.jsonl").read_text().splitlines()]
    lost = [recipe for recipe in recipes if recipe["case"] == recipes[-1]["case"]]
    for recipe in lost:
        (tree / recipe["image"]).unlink(missing_ok=True)
    copy = _only_needed(raw, tree, tmp_path / "copy", quiet)
    reconstruction = reconstruct(tree, {source.id: copy}, SOURCES, LocalEngine(1), quiet)
    assert reconstruction.short == 0, list(reconstruction.reasons(3))
    assert files_of(tree) == files_of(private)


@pytest.mark.thorough
def test_slices_of_an_edition_that_chose_others_come_back(released, tmp_path, quiet):
    """The release was made at another height of the head than this card states."""
    raw, public, private = released(SOURCES["ixi"])
    folder = shutil.copytree(SOURCES["ixi"].folder, tmp_path / "ixi")
    card = (folder / "card.toml").read_text()
    assert "mid_brain_percent = 58" in card
    (folder / "card.toml").write_text(
        card.replace("mid_brain_percent = 58", "mid_brain_percent = 30")
    )
    now = {"ixi": _restricted(load_source(folder))}
    reconstruction = reconstruct(public, {"ixi": raw}, now, LocalEngine(1), quiet)
    assert reconstruction.short == 0, list(reconstruction.reasons(3))
    assert files_of(public) == files_of(private)


def _only_needed(raw, tree, copy, quiet):
    """Copy what the list of needed files names, and hold the list against the files."""
    (file_list,) = needed_files(tree, SOURCES, quiet)
    assert file_list.whole
    for name, file in zip(file_list.text().splitlines(), file_list.files, strict=True):
        assert sha256_of(raw / name) == file.sha256
        assert (raw / name).stat().st_size == file.bytes
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(raw / name, copy / name)
    return copy


@pytest.mark.parametrize(("name", "layout"), OTHER_LAYOUTS)
def test_another_layout_gives_the_published_pixels_or_says_why_not(
    name, layout, released, tmp_path, quiet
):
    source = SOURCES[name]
    _, public, private = released(source)
    other = tmp_path / "other"
    source.build_fixture(other, layout)
    (entry,) = reconstruct(public, {name: other}, SOURCES, LocalEngine(1), quiet).sources
    published = files_of(private)
    assert entry.pictures
    for outcome in entry.pictures:
        if outcome.status in (Status.REBUILT, Status.ALREADY_THERE):
            assert (public / outcome.image).read_bytes() == published[outcome.image]
            assert outcome.detail == ""
        else:
            assert f"this copy has layout '{layout}'" in outcome.detail
            assert stored_hash(FolderImages(public), outcome.image) is None


def files_of(tree):
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }
