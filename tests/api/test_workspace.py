import shutil

import pytest

import medrcube
from medrcube.errors import MedrcubeError, SourceError, WorkspaceError


@pytest.fixture(scope="module")
def first_build(small_demo, tmp_path_factory):
    """A workspace of one source, built through the interface, and the report of the build."""
    folder = tmp_path_factory.mktemp("built") / "bench"
    workspace = medrcube.create_workspace(folder, {"busi": small_demo / "demo/raw/busi"})
    return workspace, workspace.build()


def test_a_path_may_be_text(small_demo):
    demo = small_demo / "demo"
    assert medrcube.open_workspace(str(demo)).path == medrcube.open_workspace(demo).path


def test_a_build_gives_the_tables_that_its_report_counts(first_build):
    workspace, report = first_build
    assert list(workspace.sources) == ["busi"]
    assert len(workspace.items()) == report.sources[0].items > 0
    assert len(workspace.open_items()) == report.sources[0].open_items > 0
    assert len(workspace.images()) == report.sources[0].pictures > 0
    assert len(workspace.quarantine()) >= report.sources[0].set_aside
    assert workspace.audit()["failures"] == []


def test_a_second_build_renders_nothing(first_build):
    workspace, _ = first_build
    assert workspace.build().rendered == 0


def test_the_image_of_an_item_has_the_size_that_the_table_states(first_build):
    workspace, _ = first_build
    sample = workspace.items()["sample"].iloc[0]
    row = workspace.images().set_index("id").loc[sample]
    assert workspace.image(sample).size == (row["width"], row["height"])


def test_an_unknown_image_is_an_error_that_says_where_ids_stand(first_build):
    with pytest.raises(WorkspaceError, match=r"no image 'x'; expected an id of images\(\)"):
        first_build[0].image("x")


def test_a_build_that_fails_raises_with_every_failure(small_demo, tmp_path):
    raw = tmp_path / "busi"
    shutil.copytree(small_demo / "demo/raw/busi", raw)
    workspace = medrcube.create_workspace(tmp_path / "bench", {"busi": raw})
    for image in sorted(raw.rglob("*.png")):
        image.write_bytes(image.read_bytes()[:60])
    with pytest.raises(MedrcubeError, match="the build failed:\n  "):
        workspace.build()


def test_tables_of_a_workspace_that_is_not_built_say_to_build(small_demo, tmp_path):
    workspace = medrcube.create_workspace(tmp_path, {"busi": small_demo / "demo/raw/busi"})
    with pytest.raises(WorkspaceError, match=r"items.parquet: is missing; build first"):
        workspace.items()
    with pytest.raises(WorkspaceError, match=r"audit.json: is missing; build first"):
        workspace.audit()
    assert "Not built yet" in workspace._repr_html_()


def test_a_workspace_is_not_made_of_a_folder_that_does_not_fit(small_demo, tmp_path):
    with pytest.raises(SourceError, match="busi"):
        medrcube.create_workspace(tmp_path / "bench", {"busi": small_demo / "demo/raw/vindr-cxr"})
    assert not (tmp_path / "bench").exists()


def test_a_release_holds_only_accepted_items_unless_asked(first_build, tmp_path):
    workspace, report = first_build
    with pytest.raises(MedrcubeError, match="has been accepted"):
        workspace.release(tmp_path / "release")
    release = workspace.release(str(tmp_path / "release"), name="v1", allow_unreviewed=True)
    options = release.items()["options"].map(len)
    (source,) = report.sources
    assert len(options) == source.items + source.open_items
    assert source.items > 0 < source.open_items > (options == 0).sum() > 0


def test_a_notebook_shows_counts_and_only_images_that_may_be_redistributed(small_demo):
    workspace = medrcube.open_workspace(small_demo / "demo")
    images = workspace.images()
    restricted = set(images.loc[~images["redistribute"], "source"])
    html = workspace._repr_html_()
    assert restricted
    assert html.count("<img") == images["source"].nunique() - len(restricted)
    assert "<td>vindr-cxr</td>" in html
    assert str(small_demo) not in html
