"""How one file comes: resumed, proved, and never over another."""

import hashlib
import json
import signal
import subprocess
import sys

import pytest

from medrcube.sources._framework.card_parts.home import HomeFacts
from medrcube.sources._homes.listings import RemoteFile
from medrcube.sources._homes.manifest import open_manifest
from medrcube.sources._homes.transfer import transfer_file

URL = "https://zenodo.org/api/records/1/files/a.zip/content"
PATH = URL.removeprefix("https://zenodo.org")
BODY = bytes(range(256)) * 5000
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
HOME = HomeFacts(kind="zenodo", id="1", files=(), hosts=(), then=(), evidence="x")


@pytest.fixture
def fetch(server, web, tmp_path):
    """Bring the file: ``fetch(digest=None)`` -> what became of it."""
    server.put(URL, BODY)

    def run(folder=tmp_path / "copy", **fields):
        facts = {"name": "a.zip", "url": URL, "bytes": len(BODY), "digest": ("md5", MD5)}
        manifest = open_manifest(folder, "toy", "CC-BY-4.0", HOME)
        with web("zenodo.org") as client:
            return transfer_file(
                client, RemoteFile(**{**facts, **fields}), folder, manifest, _nobody
            )

    return run


def test_a_file_comes_whole_and_its_digests_are_written_down(fetch, tmp_path):
    assert fetch().status == "fetched"
    copy = tmp_path / "copy"
    assert (copy / "a.zip").read_bytes() == BODY
    stated = json.loads((copy / "medrcube-get.json").read_text())
    assert stated["accepted"] == "CC-BY-4.0"
    assert stated["files"]["a.zip"] == {
        "bytes": len(BODY),
        "md5": MD5,
        "sha256": hashlib.sha256(BODY).hexdigest(),
        "proved_by": f"md5:{MD5}",
        "url": URL,
    }
    assert sorted(path.name for path in copy.iterdir()) == ["a.zip", "medrcube-get.json"]


def test_a_second_call_asks_for_nothing(fetch, server):
    fetch()
    count = len(server.requests)
    assert fetch().status == "there"
    assert len(server.requests) == count


def test_a_connection_that_breaks_off_goes_on_from_there(fetch, server, tmp_path):
    server.faults[PATH] = [("cut", 300_000), ("cut", 100_000)]
    assert fetch().status == "fetched"
    assert (tmp_path / "copy/a.zip").read_bytes() == BODY
    ranges = [headers.get("Range") for _, _, headers in server.requests]
    assert ranges[0] is None
    starts = [int(span.removeprefix("bytes=").rstrip("-")) for span in ranges[1:]]
    assert 0 < starts[0] < starts[1] <= 400_000


def test_a_server_that_knows_no_ranges_sends_all_again(fetch, server, tmp_path):
    server.faults[PATH] = [("cut", 300_000), ("whole",)]
    assert fetch().status == "fetched"
    assert (tmp_path / "copy/a.zip").read_bytes() == BODY


def test_without_a_digest_a_file_that_changed_meanwhile_is_not_patched_together(
    fetch, server, tmp_path
):
    other = BODY[::-1]
    server.faults[PATH] = [("cut", 300_000)] + [503] * 5
    assert fetch(digest=None).status == "failed"
    server.put(URL, other)
    assert fetch(digest=None).status == "fetched"
    assert (tmp_path / "copy/a.zip").read_bytes() == other


def test_a_part_that_nothing_proves_is_dropped(fetch, tmp_path, server):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/a.zip.part").write_bytes(b"x" * 1000)
    assert fetch(digest=None).status == "fetched"
    assert "Range" not in server.requests[0][2]


def test_a_part_that_is_longer_than_the_file_is_dropped(fetch, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/a.zip.part").write_bytes(BODY + b"x")
    assert fetch().status == "fetched"


def test_a_damaged_part_is_found_out_and_begun_anew(fetch, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/a.zip.part").write_bytes(b"x" * 1000)
    assert fetch().status == "fetched"
    assert (tmp_path / "copy/a.zip").read_bytes() == BODY


def test_a_wrong_digest_never_gets_the_name(fetch, tmp_path):
    outcome = fetch(digest=("md5", "0" * 32))
    assert outcome.status == "failed"
    assert f"MD5 is {MD5}, the home states {'0' * 32}" in outcome.detail
    assert not (tmp_path / "copy/a.zip").exists()
    assert not (tmp_path / "copy/a.zip.part").exists()


def test_a_short_body_is_no_file(fetch):
    assert "the home states" in fetch(bytes=len(BODY) + 1).detail


@pytest.mark.parametrize("delay", ["7", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"])
def test_a_busy_home_is_waited_for_as_it_asks(fetch, server, waits, delay):
    server.faults[PATH] = [(429, {"Retry-After": delay})]
    assert fetch().status == "fetched"
    assert waits == [{"7": 7.0, "soon": 1.0}.get(delay, 0.0)]


def test_a_home_that_stays_busy_is_left_in_the_end(fetch, server, waits):
    server.faults[PATH] = [429] * 9
    outcome = fetch()
    assert (outcome.status, len(waits)) == ("failed", 4)
    assert "too many requests" in outcome.detail


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "does not exist"), (403, "sign the agreement"), (401, "user name")],
)
def test_a_refusal_is_told_at_once(fetch, server, waits, status, message):
    server.faults[PATH] = [status]
    assert message in fetch().detail
    assert waits == []


def test_a_file_of_the_user_is_left_alone(fetch, tmp_path, server):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/a.zip").write_bytes(b"mine" + BODY[4:])
    outcome = fetch()
    assert outcome.status == "kept"
    assert "was left as it is" in outcome.detail
    assert (tmp_path / "copy/a.zip").read_bytes() == b"mine" + BODY[4:]
    assert server.requests == []


def test_a_file_that_was_there_already_counts_when_its_digest_is_right(fetch, tmp_path, server):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/a.zip").write_bytes(BODY)
    assert fetch().status == "there"
    assert server.requests == []


def test_a_link_out_of_the_folder_is_not_followed(fetch, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "copy/sub").symlink_to(tmp_path / "out")
    assert "leads outside that folder" in fetch(name="sub/a.zip").detail
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "place", ["http://zenodo.org/x", "https://evil.example/x", "https://zenodo.org.evil.example/"]
)
def test_a_redirect_to_another_place_is_not_followed(fetch, server, place):
    server.faults[PATH] = [(302, {"Location": place})]
    outcome = fetch()
    assert "expected an https address of zenodo.org" in outcome.detail
    assert len(server.requests) == 1


def test_a_redirect_within_the_home_is_followed_and_its_key_written_nowhere(
    fetch, server, tmp_path
):
    server.put("https://files.zenodo.org/a?signature=SECRET", BODY)
    server.faults[PATH] = [
        (302, {"Location": "https://files.zenodo.org/a?signature=SECRET"}),
    ]
    assert fetch().status == "fetched"
    assert "SECRET" not in (tmp_path / "copy/medrcube-get.json").read_text()


def test_a_password_goes_to_the_host_that_it_is_for_alone(server, web):
    server.faults["/x"] = [(302, {"Location": "https://cdn.zenodo.org/y"})]
    server.put("https://cdn.zenodo.org/y", b"y")
    with web("zenodo.org", login=("me", "secret")) as client:
        assert client.get("https://zenodo.org/x").content == b"y"
    first, second = (headers for _, _, headers in server.requests)
    assert "Authorization" in first
    assert "Authorization" not in second


SLOW = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from conftest import Loopback
from medrcube.sources._framework.card_parts.home import HomeFacts
from medrcube.sources._homes.listings import RemoteFile
from medrcube.sources._homes.manifest import open_manifest
from medrcube.sources._homes.transfer import transfer_file
from medrcube.sources._homes.https import HomeClient
import os, signal

seen = 0
def told(count):
    global seen
    seen += count
    if seen > int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)

home = HomeFacts(kind="zenodo", id="1", files=(), hosts=(), then=(), evidence="x")
url, size, md5 = sys.argv[5:]
file = RemoteFile(name="a.zip", url=url, bytes=int(size), digest=("md5", md5))
folder = Path(sys.argv[3])
with HomeClient(("zenodo.org",), transport=Loopback(int(sys.argv[2]))) as web:
    transfer_file(web, file, folder, open_manifest(folder, "toy", "x", home), told)
"""


def test_a_kill_costs_only_what_was_on_its_way(fetch, server, tmp_path, request):
    large = BODY * 4
    md5 = hashlib.md5(large, usedforsecurity=False).hexdigest()
    server.put(URL, large)
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    port, copy = str(server.server_address[1]), str(tmp_path / "copy")
    process = subprocess.run(
        [sys.executable, script, request.path.parent, port, copy, "2000000", URL,
         str(len(large)), md5],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert process.returncode == -signal.SIGKILL, process.stderr
    size = (tmp_path / "copy/a.zip.part").stat().st_size
    assert size >= 1_000_000
    assert fetch(bytes=len(large), digest=("md5", md5)).status == "fetched"
    assert (tmp_path / "copy/a.zip").read_bytes() == large
    assert server.requests[-1][2]["Range"] == f"bytes={size}-"


def _nobody(_):
    pass
