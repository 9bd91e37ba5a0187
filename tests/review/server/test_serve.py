"""The server as people run it: several processes at one port, which end together."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.untraced


@contextmanager
def served(folder):
    """The first process and the address of a server of two."""
    # The queue of the workspace, and not the one that this process has been given.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MEDRCUBE_REVIEW")
    }
    environment["MEDRCUBE_REVIEW_PASSWORD"] = "correct horse battery staple"  # noqa: S105
    command = [sys.executable, "-m", "medrcube", "review", "serve", str(folder), "--port", "0"]
    command += ["--processes", "2", "--admin-email", "head@example.org"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield process, next(re.search(r"http://\S+", line)[0] for line in process.stdout)
    finally:
        process.kill()
        process.communicate()


def others(process):
    return [int(pid) for pid in children(process.pid).read_text().split()]


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children")


def gone(pids):
    """Whether these processes end within some seconds."""
    for _ in range(400):
        if not any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "medrcube.toml").write_text("", encoding="utf-8")
    return tmp_path


@pytest.mark.thorough
@pytest.mark.skipif(not children(1).exists(), reason="needs /proc to name child processes")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_all_processes_of_the_server_end_with_the_first_one(workspace, how):
    with served(workspace) as (process, address):
        pids = others(process)
        assert len(pids) == 1
        with urlopen(f"{address}health/") as reply:  # noqa: S310  (our own)
            assert reply.read() == b"ok"
        process.send_signal(how)
        assert process.wait(20) == (0 if how == signal.SIGTERM else -how)
        assert gone(pids)


@pytest.mark.thorough
@pytest.mark.skipif(not children(1).exists(), reason="needs /proc to name child processes")
def test_the_server_ends_with_an_error_where_one_of_its_processes_does(workspace):
    with served(workspace) as (process, _):
        os.kill(others(process)[0], signal.SIGKILL)
        assert process.wait(20) != 0


_ELSEWHERE = """
import threading
from wsgiref.simple_server import make_server
from urllib.request import urlopen
from medrcube.review.wsgi import application
server = make_server("127.0.0.1", 0, application)
threading.Thread(target=server.serve_forever, daemon=True).start()
urlopen(f"http://127.0.0.1:{server.server_port}/sign-in/").read()
from medrcube.review.models import User
from medrcube.taxonomy import Anatomy
print(*User.objects.values_list("email", flat=True), "Tail" in Anatomy)
server.shutdown()
"""


def elsewhere(workspace):
    """The entry point in another WSGI server, with the folder as its only setting."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MEDRCUBE_REVIEW")
    }
    environment["DJANGO_SETTINGS_MODULE"] = "medrcube.review.settings"
    environment["MEDRCUBE_REVIEW_FOLDER"] = str(workspace / "review")
    command = [sys.executable, "-c", _ELSEWHERE]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_another_server_opens_the_queue_of_the_folder_and_knows_its_vocabulary(workspace):
    (workspace / "vocabulary").mkdir()
    words = '[[anatomy]]\nname = "Tail"\n'
    (workspace / "vocabulary" / "words.toml").write_text(words, encoding="utf-8")
    environment = {**os.environ, "MEDRCUBE_REVIEW_PASSWORD": "correct horse battery staple"}
    environment.pop("MEDRCUBE_REVIEW_DATABASE", None)
    for words in (["migrate", workspace], ["adduser", workspace, "head@example.org"]):
        command = [sys.executable, "-m", "medrcube", "review", *words]
        subprocess.run(command, env=environment, check=True)
    assert elsewhere(workspace).stdout == "head@example.org True\n"


def test_another_server_without_a_queue_is_told_what_to_run(workspace):
    ran = elsewhere(workspace)
    assert ran.returncode == 1
    assert "run  medrcube review migrate WORKSPACE  first" in ran.stderr
    assert list(workspace.iterdir()) == [workspace / "medrcube.toml"]
