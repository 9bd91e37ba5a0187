import os
import stat

import pytest

from medrcube.build_settings import BuildSettings
from medrcube.errors import WorkspaceError
from medrcube.facts import Grade
from medrcube.workspace import add_source_folders, init_workspace, open_workspace, patient_key


def test_a_new_workspace_opens_with_the_documented_settings(tmp_path):
    workspace = init_workspace(tmp_path / "w")
    assert workspace.settings == BuildSettings()
    assert workspace.sources == {}


def test_raw_roots_are_relative_to_the_workspace(tmp_path):
    init_workspace(tmp_path)
    config = tmp_path / "medrcube.toml"
    config.write_text(config.read_text() + 'busi = "raw/busi"\nacdc = "/data/acdc"\n')
    sources = open_workspace(tmp_path).sources
    assert sources["busi"] == tmp_path.resolve() / "raw/busi"
    assert str(sources["acdc"]) == "/data/acdc"


def test_a_workspace_is_never_overwritten(tmp_path):
    init_workspace(tmp_path)
    (tmp_path / "medrcube.toml").write_text("# mine")
    with pytest.raises(WorkspaceError, match="already exists"):
        init_workspace(tmp_path)
    assert (tmp_path / "medrcube.toml").read_text() == "# mine"


def test_a_folder_without_configuration_says_how_to_make_one(tmp_path):
    with pytest.raises(WorkspaceError, match="medrcube init"):
        open_workspace(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[build]\nsed = 1", "unknown key 'build.sed'; did you mean 'seed'"),
        ("[build]\noptions = 5", "'build.options': expected 2, 3 or 4"),
        ('[build]\nleast_visible = "maybe"', "expected one of no, partly, yes"),
        ('[build]\nevidence = "D"', "'build.evidence': expected one of A, B, C"),
        ("[build]\nquarantine_gate = 2.0", "expected a share between 0 and 1"),
        ("[sources]\nbusi = 3", "'sources': expected a table of strings"),
        ("[ontologies]\nindx = 'o.sqlite3'", "unknown key 'ontologies.indx'; did you mean 'index'"),
        ("[ontologies]\nindex = 3", "'ontologies.index': expected a string"),
        ("[build", "is not valid TOML"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(tmp_path, text, says):
    (tmp_path / "medrcube.toml").write_text(text)
    with pytest.raises(WorkspaceError, match=says):
        open_workspace(tmp_path)


def test_settings_are_read(tmp_path):
    (tmp_path / "medrcube.toml").write_text('[build]\nseed = 7\nevidence = "A"\noptions = 3\n')
    settings = open_workspace(tmp_path).settings
    assert (settings.seed, settings.evidence, settings.options) == (7, Grade.A, 3)


def test_the_index_of_ontologies_is_relative_to_the_workspace_and_may_be_left_out(tmp_path):
    assert init_workspace(tmp_path).ontology_index is None
    config = tmp_path / "medrcube.toml"
    config.write_text('[ontologies]\nindex = "mine/o.sqlite3"\n')
    assert open_workspace(tmp_path).ontology_index == tmp_path.resolve() / "mine/o.sqlite3"
    config.write_text('[ontologies]\nindex = "/data/o.sqlite3"\n')
    assert str(open_workspace(tmp_path).ontology_index) == "/data/o.sqlite3"


def test_the_patient_key_is_made_once_and_only_its_owner_reads_it(tmp_path):
    workspace = init_workspace(tmp_path)
    key = patient_key(workspace)
    assert len(key) == 32
    assert patient_key(workspace) == key
    mode = (tmp_path / "cache" / "patient.key").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["patient.key"]


def test_a_workspace_and_its_configuration_are_for_their_owner_whatever_the_umask(tmp_path):
    root, there = tmp_path / "new", tmp_path / "there"
    there.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        init_workspace(root)
        init_workspace(there)
        add_source_folders(root, [tmp_path])
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (root, root / "medrcube.toml", there)]
    assert modes == [0o700, 0o600, 0o755]


def test_a_workspace_in_a_file_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError):
        init_workspace(tmp_path / "file" / "w")
    with pytest.raises(WorkspaceError, match="is not a workspace"):
        open_workspace(tmp_path / "file")


@pytest.mark.parametrize("text", [None, "[sources]\n", "[build]\nseed = 3\n"])
def test_folders_of_sources_are_remembered_beside_those_that_stand_there(tmp_path, text):
    init_workspace(tmp_path)
    if text is not None:
        (tmp_path / "medrcube.toml").write_text(text)
    for name in ("mine", "yours", "mine"):
        add_source_folders(tmp_path, [tmp_path / name])
    folders = tmp_path.resolve() / "mine", tmp_path.resolve() / "yours"
    assert open_workspace(tmp_path).source_folders == folders


def test_remembering_nothing_new_leaves_the_file_as_it_was(tmp_path):
    init_workspace(tmp_path)
    before = (tmp_path / "medrcube.toml").read_bytes()
    add_source_folders(tmp_path, [])
    assert (tmp_path / "medrcube.toml").read_bytes() == before


def test_values_that_a_card_does_not_know_are_read_by_source_and_field(tmp_path):
    init_workspace(tmp_path)
    config = tmp_path / "medrcube.toml"
    config.write_text(config.read_text() + '\n[values.padchest.view]\nX = ""\n"Y 1" = "PA"\n')
    assert open_workspace(tmp_path).values == {"padchest": {"view": {"X": "", "Y 1": "PA"}}}


@pytest.mark.parametrize(
    "name", [b"r\xe4w", b'a "quoted" \\x41 name', b"del\x7f", "größe".encode()]
)
def test_a_raw_root_of_any_name_is_written_and_read_back(tmp_path, name):
    raw, folder = tmp_path / os.fsdecode(name), tmp_path / os.fsdecode(b"f" + name)
    init_workspace(tmp_path, {"busi": raw})
    add_source_folders(tmp_path, [folder])
    workspace = open_workspace(tmp_path)
    assert workspace.sources == {"busi": raw}
    assert workspace.source_folders == (folder,)


def test_how_people_sign_in_is_read_and_paths_are_relative_to_the_workspace(tmp_path):
    assert init_workspace(tmp_path).review.single_sign_on is None
    (tmp_path / "medrcube.toml").write_text(
        '[review]\nsecond_factor = ["manager"]\n[review.single_sign_on]\n'
        'issuer = "https://login.example.org/realms/a"\nclient_id = "m"\nsecret_file = "s"\n'
    )
    review = open_workspace(tmp_path).review
    assert review.second_factor == ("manager",)
    assert review.single_sign_on.issuer == "https://login.example.org/realms/a"
    assert review.single_sign_on.secret_file == tmp_path.resolve() / "s"
    assert not review.single_sign_on.asks_second_factor


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('second_factor = ["boss"]', "boss"),
        ('[review.single_sign_on]\nissuer = "http://a.example"\nclient_id = "b"', "https://"),
        ('[review.single_sign_on]\nissuer = "https://u:p@a.example"\nclient_id = "b"', "https://"),
        ('[review.single_sign_on]\nissuer = "https://a.example?x"\nclient_id = "b"', "https://"),
        ('[review.single_sign_on]\nissuer = "https://a.example"', "client_id"),
        (
            '[review.single_sign_on]\nissuer = "https://a.example"\nclient_id = "b"\nsecret = "c"',
            "secret",
        ),
    ],
)
def test_a_way_to_sign_in_that_is_not_safe_is_refused(tmp_path, lines, says):
    (tmp_path / "medrcube.toml").write_text(f"[review]\n{lines}\n")
    with pytest.raises(WorkspaceError, match=says):
        open_workspace(tmp_path)
