import errno
import os

import pytest

from medrcube.errors import WorkspaceError
from medrcube.files.atomic import replacing, sha256_of, write_again, write_text


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


def test_a_system_that_takes_a_part_of_the_bytes_at_a_time_gets_all_of_them(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:3]))
    status = write_again(tmp_path / "a.png", b"12345678")
    assert (tmp_path / "a.png").read_bytes() == b"12345678"
    assert status.st_size == 8


def test_a_full_disk_is_a_workspace_error_and_leaves_the_old_file_and_no_rest(
    tmp_path, monkeypatch
):
    path = tmp_path / "a.png"
    write_again(path, b"old")

    def full(handle, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WorkspaceError, match="No space left"):
        write_again(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_an_unwritable_place_is_a_workspace_error_that_names_it(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot be written"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_the_digest_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256_of(tmp_path / "a").startswith("ba7816bf8f01cfea")
