"""What each kind of home answers, and what is made of it."""

import json
import os
import shutil
import stat
import subprocess
from hashlib import sha256

import pytest

from medrcube.console.progress import Reporter
from medrcube.errors import HomeError
from medrcube.sources._framework.card_parts.home import HomeFacts, HomeFile
from medrcube.sources._homes.downloads import choose_files
from medrcube.sources._homes.get import download, unpack_commands
from medrcube.sources._homes.listings import RemoteFile
from medrcube.sources._homes.protocol import DownloadedFile, DownloadRequest
from medrcube.sources.registry import find_sources


def home_of(kind, name, *files, **fields):
    facts = {"kind": kind, "id": name, "files": files, "hosts": (), "then": (), "evidence": "x"}
    return HomeFacts(**{**facts, **fields})


def file_of(name, **fields):
    return HomeFile(**{"name": name, "url": "", "bytes": 0, "md5": "", "into": "", **fields})


@pytest.fixture
def fetch(web, tmp_path):
    """Get a home into a folder: ``fetch(home)`` -> status of each file."""
    card = find_sources()["bus-bra"].card

    def run(home, names=None, folder=tmp_path / "copy"):
        order = DownloadRequest(folder=folder, requested_files=names)
        return {
            entry.name: entry.status for entry in download(card, home, order, Reporter(quiet=True))
        }

    return run


def test_zenodo_gives_all_files_of_a_record(fetch, zenodo, tmp_path):
    zenodo({"a.zip": b"aa", "b.csv": b"bb"})
    assert fetch(home_of("zenodo", "8231412")) == {"a.zip": "fetched", "b.csv": "fetched"}
    assert (tmp_path / "copy/b.csv").read_bytes() == b"bb"
    assert fetch(home_of("zenodo", "8231412")) == {"a.zip": "there", "b.csv": "there"}


def test_only_the_files_of_the_card_come(fetch, zenodo):
    zenodo({"a.zip": b"aa", "b.csv": b"bb"})
    assert fetch(home_of("zenodo", "8231412", file_of("b.csv"))) == {"b.csv": "fetched"}


def test_another_edition_than_that_of_the_card_is_told(fetch, zenodo):
    zenodo({"a.zip": b"aa"})
    with pytest.raises(HomeError, match="this is not the edition that the card describes"):
        fetch(home_of("zenodo", "8231412", file_of("a.zip", md5="0" * 32)))


def test_a_file_that_the_home_no_longer_offers_is_told(fetch, zenodo):
    zenodo({"a.zip": b"aa"})
    with pytest.raises(HomeError, match=r"no longer offers b.zip; it has a.zip"):
        fetch(home_of("zenodo", "8231412", file_of("b.zip")))


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", "C:/a", "a\\b", "a\x1b[2J"])
def test_a_name_that_leads_out_of_the_folder_is_refused(fetch, zenodo, name):
    zenodo({"a": b"a"}, key=name)
    with pytest.raises(HomeError, match="not a safe name"):
        fetch(home_of("zenodo", "8231412"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"size": "2"}, "size '2'"), ({"links": None}, "self None"), ({"checksum": 7}, "checksum 7")],
)
def test_an_answer_of_another_form_is_told(fetch, zenodo, fields, message):
    zenodo({"a": b"a"}, **fields)
    with pytest.raises(HomeError, match=message):
        fetch(home_of("zenodo", "8231412"))


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"files": 3}', b'{"files": []}'])
def test_an_answer_that_lists_nothing_is_told(fetch, server, body):
    server.put("https://zenodo.org/api/records/8231412", body)
    with pytest.raises(HomeError, match=r"JSON|no list of files|lists no file"):
        fetch(home_of("zenodo", "8231412"))


def test_figshare_gives_a_version_of_an_article_through_its_store(fetch, server, tmp_path):
    address = "https://s3-eu-west-1.amazonaws.com/pfigshare-u-files/1/a.zip"
    server.put(address, b"aa")
    server.faults["/files/1"] = [(302, {"Location": f"{address}"})]
    entry = {
        "id": 1,
        "name": "a.zip",
        "size": 2,
        "is_link_only": False,
        "download_url": "https://ndownloader.figshare.com/files/1",
        "supplied_md5": "4124bc0a9335c27f086f24ba207a4912",
        "computed_md5": "4124bc0a9335c27f086f24ba207a4912",
        "mimetype": "application/zip",
    }
    link = {**entry, "id": 2, "name": "elsewhere", "is_link_only": True}
    body = json.dumps({"id": 1512427, "version": 5, "files": [entry, link]}).encode()
    server.put("https://api.figshare.com/v2/articles/1512427/versions/5", body)
    assert fetch(home_of("figshare", "1512427/5")) == {"a.zip": "fetched"}
    assert (tmp_path / "copy/a.zip").read_bytes() == b"aa"


@pytest.fixture
def physionet(server):
    """A project with two pictures in folders and a table."""
    base = "https://physionet.org/files/toy/1.0.0/"
    files = {"files/p1/a b.jpg": b"1", "files/p2/c.jpg": b"2", "table.csv.gz": b"3"}
    lines = [f"{sha256(body).hexdigest()} {name}\n" for name, body in files.items()]
    server.put(f"{base}SHA256SUMS.txt", "".join(lines).encode())
    for name, body in files.items():
        server.put(base + name, body)
    return home_of("physionet", "toy/1.0.0")


def test_physionet_gives_what_its_list_of_digests_names(fetch, physionet, tmp_path):
    assert set(fetch(physionet).values()) == {"fetched"}
    assert (tmp_path / "copy/files/p1/a b.jpg").read_bytes() == b"1"


def test_physionet_gets_the_users_name_and_password_and_they_are_written_nowhere(
    fetch, physionet, server, monkeypatch, tmp_path
):
    monkeypatch.setenv("PHYSIONET_USERNAME", "somebody")
    monkeypatch.setenv("PHYSIONET_PASSWORD", "verysecret")
    fetch(physionet)
    assert all("Authorization" in headers for _, _, headers in server.requests)
    text = (tmp_path / "copy/medrcube-get.json").read_text()
    assert "verysecret" not in text
    assert "somebody" not in text


def test_only_the_files_of_a_list_come_whatever_folders_stand_before_them(fetch, physionet):
    names = {"physionet.org/files/toy/1.0.0/files/p2/c.jpg", "table.csv.gz", "lost.jpg"}
    assert fetch(physionet, names) == {
        "files/p2/c.jpg": "fetched",
        "table.csv.gz": "fetched",
        "lost.jpg": "unknown",
    }


def test_a_list_of_unpacked_files_does_not_fit_a_home_of_archives(fetch, zenodo):
    zenodo({"a.zip": b"aa"})
    with pytest.raises(HomeError, match="download everything and unpack it"):
        fetch(home_of("zenodo", "8231412"), {"images/1.png"})


def test_the_longest_fitting_name_is_taken():
    offered = [RemoteFile(name=name, url="", bytes=1, digest=None) for name in ("c.jpg", "b/c.jpg")]
    choice, unknown = choose_files(offered, {"a/b/c.jpg"})
    assert [file.name for file in choice] == ["b/c.jpg"]
    assert unknown == ()


def test_files_that_a_card_names_come_from_their_addresses(fetch, server, tmp_path):
    server.put("https://example.org/x/a.tar", b"aa")
    home = home_of("https", "", file_of("a.tar", url="https://example.org/x/a.tar", into="A"))
    assert fetch(home) == {"a.tar": "fetched"}


def test_a_file_that_fails_stops_no_other(fetch, zenodo, server):
    path = zenodo({"a.zip": b"aa", "b.csv": b"bb"})
    server.faults[path] = [404]
    assert fetch(home_of("zenodo", "8231412")) == {"a.zip": "failed", "b.csv": "fetched"}


def test_a_disk_that_is_too_small_is_told_before_anything_comes(fetch, zenodo, server):
    zenodo({"a.zip": b"aa"}, size=10**18)
    with pytest.raises(HomeError, match="choose another disk"):
        fetch(home_of("zenodo", "8231412"))
    assert len(server.requests) == 1


def test_the_folder_of_another_source_is_refused(fetch, zenodo, tmp_path):
    zenodo({"a.zip": b"aa"})
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/medrcube-get.json").write_text('{"source": "busi", "files": {}}')
    with pytest.raises(HomeError, match="holds busi; choose another folder"):
        fetch(home_of("zenodo", "8231412"))


def test_archives_are_named_with_the_command_that_unpacks_them(fetch, zenodo, tmp_path):
    zenodo({"a b.zip": b"aa", "t.tar.gz": b"t", "c.csv": b"c"})
    order = DownloadRequest(folder=tmp_path / "copy")
    home = home_of("zenodo", "8231412")
    card = find_sources()["bus-bra"].card
    brought = download(card, home, order, Reporter(quiet=True))
    folder = tmp_path / "copy"
    assert unpack_commands(home, folder, brought) == [
        f"unzip -q -n '{folder}/a b.zip' -d {folder}",
        f"tar -xkf {folder}/t.tar.gz -C {folder}",
    ]


def test_every_archive_of_a_card_goes_where_the_card_says(tmp_path):
    home = find_sources()["ixi"].card.home
    brought = [DownloadedFile(name=file.name, status="there") for file in home.files]
    results = unpack_commands(home, tmp_path, brought)
    assert results[0] == (
        f"mkdir -p {tmp_path}/IXI-T1 && tar -xkf {tmp_path}/IXI-T1.tar -C {tmp_path}/IXI-T1"
    )
    assert len(results) == 4


@pytest.fixture
def client(tmp_path, monkeypatch):
    """Put a program on the path: ``client("kaggle", "text of a shell script")``."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def write(name, text):
        path = programs / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return write


def test_kaggles_client_is_called_and_what_it_brings_is_written_down(fetch, client, tmp_path):
    client("kaggle", 'echo "$@" > "$6/arguments"')
    home = home_of("kaggle", "datasets/owner/name")
    assert fetch(home) == {"arguments": "fetched"}
    copy = tmp_path / "copy"
    text = (copy / "arguments").read_text()
    assert text == f"datasets download -d owner/name -p {copy}\n"
    files = json.loads((copy / "medrcube-get.json").read_text())["files"]
    assert files["arguments"]["sha256"] == sha256(text.encode()).hexdigest()
    assert fetch(home) == {"arguments": "there"}


def test_the_imaging_data_commons_client_gets_collection_and_folders(fetch, client, tmp_path):
    client("idc", 'printf "%s\\n" "$@" > "$5/arguments"')
    fetch(home_of("idc", "lidc_idri"))
    assert (tmp_path / "copy/arguments").read_text().splitlines() == [
        *("download-from-selection", "--collection-id", "lidc_idri"),
        *("--download-dir", str(tmp_path / "copy"), "--dir-template"),
        *("%collection_id/%PatientID/%StudyInstanceUID/%SeriesInstanceUID",),
        *("--use-s5cmd-sync", "true"),
    ]


def test_a_client_that_fails_is_told(fetch, client):
    client("kaggle", "exit 3")
    with pytest.raises(HomeError, match="exited with status 3"):
        fetch(home_of("kaggle", "datasets/owner/name"))


def test_a_client_that_is_not_installed_is_told_in_one_line(fetch, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HomeError, match="pip install idc-index") as excinfo:
        fetch(home_of("idc", "lidc_idri"))
    assert "\n" not in str(excinfo.value)


def test_a_client_gives_all_or_nothing(fetch):
    with pytest.raises(HomeError, match="leave out the list"):
        fetch(home_of("git", "https://github.com/a/b"), {"x"})


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository on this machine that git takes for one of GitHub."""
    origin = tmp_path / "origin"
    for name, value in (("HOME", tmp_path), ("GIT_CONFIG_GLOBAL", tmp_path / "gitconfig")):
        monkeypatch.setenv(name, str(value))
    (tmp_path / "gitconfig").write_text(
        f'[user]\nname = x\nemail = x@example.org\n[url "file://{origin}"]\n'
        "insteadOf = https://github.com/a/b\n"
    )
    origin.mkdir()
    (origin / "metadata.csv").write_text("a\n")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([shutil.which("git"), "-C", origin, *command], check=True)
    return home_of("git", "https://github.com/a/b")


def test_a_repository_is_cloned_and_its_commit_written_down(fetch, repository, tmp_path):
    assert fetch(repository) == {"metadata.csv": "fetched"}
    files = json.loads((tmp_path / "copy/medrcube-get.json").read_text())["files"]
    assert len(files[".git"]["commit"]) == 40
    assert fetch(repository) == {"metadata.csv": "there"}


def test_a_clone_that_was_changed_is_told(fetch, repository, tmp_path):
    fetch(repository)
    (tmp_path / "copy/metadata.csv").unlink()
    with pytest.raises(HomeError, match="differs from its commit"):
        fetch(repository)


def test_a_folder_with_other_files_is_not_cloned_into(fetch, repository, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/mine.txt").write_text("x")
    with pytest.raises(HomeError, match="holds other files"):
        fetch(repository)
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["mine.txt"]
