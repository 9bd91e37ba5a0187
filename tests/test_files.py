import pytest

from medrcube.errors import WorkspaceError
from medrcube.files.atomic import replacing, sha256_of, write_text


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text() == "two"
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def interrupted():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_an_unwritable_place_is_a_workspace_error_that_names_it(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot be written"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_the_digest_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256_of(tmp_path / "a").startswith("ba7816bf8f01cfea")
