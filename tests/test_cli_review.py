"""The command line of the queue, each command in a process of its own, as people run it.

Django is set up once in a process, so these cannot run in the one of the tests.
"""

import contextlib
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.review.errors import ReviewError
from medrcube.review.server.bind_address import check_address
from medrcube.workspace import CONFIG

PAGES = Path(__file__).parents[1] / "docs/how-to"
PASSWORD = "a rather long pass phrase"  # noqa: S105
NO_REDIRECT = urllib.request.build_opener(
    type("Stay", (urllib.request.HTTPRedirectHandler,), {"redirect_request": lambda *_: None})
)


def command(*arguments, **variables):
    tools = Path(sys.executable).parent
    own_environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MEDRCUBE_REVIEW")
    }
    own_environment.pop("DJANGO_SETTINGS_MODULE", None)
    variables = {"MEDRCUBE_REVIEW_PASSWORD": PASSWORD, **variables}
    environment = {
        **own_environment,
        "PATH": f"{tools}{os.pathsep}{own_environment['PATH']}",
        **variables,
    }
    return [str(tools / "medrcube"), *map(str, arguments)], environment


def run(*arguments, **variables):
    """Run ``medrcube``: (status, out, err)."""
    words, environment = command(*arguments, **variables)
    process = subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return process.returncode, process.stdout, process.stderr


def help_of(*command):
    """The help of a command of the queue, in this process: it needs no Django."""
    result = CliRunner().invoke(app, ["review", *command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, command
    return result.output


@contextlib.contextmanager
def terminal(*arguments):
    """``medrcube`` in a terminal: wait for words in what it shows, and type."""
    words, environment = command(*arguments)
    del environment["MEDRCUBE_REVIEW_PASSWORD"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    output = ""

    def wait_for(text):
        nonlocal output
        end = time.monotonic() + 120
        while text not in output:
            assert time.monotonic() < end, f"{text!r} was not shown, but {output!r}"
            if select.select([ours], [], [], 1)[0]:
                output += os.read(ours, 4096).decode()
        before, _, output = output.partition(text)
        return before

    def write(text):
        time.sleep(0.5)  # what is typed before the echo is switched off is dropped
        os.write(ours, text.encode())

    try:
        yield wait_for, write, process
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@contextlib.contextmanager
def serving(workspace, *options, **variables):
    """The address of a running server, and its process; it is ended."""
    words, environment = command("review", "serve", workspace, "--port", 0, *options, **variables)
    process = subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        line = next((line for line in process.stdout if "the review queue is at" in line), "")
        assert line, "the server ended before it was ready"
        yield re.search(r"https?://\S+", line).group(), process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()
        process.stdout.close()


def get(address, **headers):
    request = urllib.request.Request(address, headers=headers)  # noqa: S310  (our own address)
    try:
        with NO_REDIRECT.open(request, timeout=60) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.fixture(scope="module")
def bench_root(tmp_path_factory):
    """A workspace that was built from generated data."""
    root = tmp_path_factory.mktemp("cli") / "bench"
    assert run("sources", "fixture", "busi", root.with_name("raw"))[0] == 0
    raw = root.with_name("raw")
    assert run("build", root, "--source", f"busi={raw}", "--workers", 1)[0] == 0
    return root


@pytest.fixture(scope="module")
def imported(bench_root):
    """The same with a queue; and what the import said."""
    status, out, err = run("review", "import", bench_root, "--json")
    assert status == 0, err
    return bench_root, json.loads(out)


@pytest.fixture
def bench(tmp_path):
    """An empty workspace."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / CONFIG).write_text("[sources]\n")
    return tmp_path / "bench"


@pytest.mark.thorough
def test_an_import_tells_what_it_did_and_the_next_one_does_nothing(imported):
    root, first = imported
    assert first["added"] == first["items"] > 0
    assert first["refused"] == []
    status, out, _ = run("review", "import", root)
    assert (status, "0 new, 0 changed" in out) == (0, True)


@pytest.mark.thorough
def test_an_import_with_a_refused_item_has_status_1(bench_root, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(bench_root, copy, ignore=shutil.ignore_patterns("review*", "cache"))
    shutil.rmtree(copy / "images")
    status, out, _ = run("review", "import", copy)
    assert (status, "REFUSED" in out) == (1, True)


@pytest.mark.thorough
def test_status_counts_and_names_no_person(imported):
    root, first = imported
    status, out, _ = run("review", "status", root, "--json")
    data = json.loads(out)
    assert (status, data["states"]) == (0, {"queued": first["added"]})
    assert sum(row["states"]["queued"] for row in data["voxels"]) == first["added"]
    status, out, err = run("review", "adduser", root, "Dr.A@example.org")
    assert status == 0, err
    status, out, _ = run("review", "status", root)
    assert "reviewer-" in out
    assert "example.org" not in out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nobody",), "not an e-mail address"),
        (("b@example.org", "--role", "king"), "king"),
        (("b@example.org", "--specialty", "Foot"), "Foot"),
    ],
)
def test_an_account_that_cannot_be_is_refused(imported, arguments, reason):
    root, _ = imported
    status, _, err = run("review", "adduser", root, *arguments)
    assert (status, reason in err) == (2, True)


@pytest.mark.thorough
def test_a_weak_password_is_refused_and_none_stands_on_a_command_line(imported):
    root, _ = imported
    arguments = ("review", "adduser", root, "c@example.org")
    status, _, err = run(*arguments, MEDRCUBE_REVIEW_PASSWORD="short")  # noqa: S106
    assert (status, "at least 12" in err) == (2, True)
    for name in ("adduser", "serve"):
        assert not re.search(r"--\S*pass", help_of(name))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("email", "reason"),
    [("nobody@example.org", "has no account"), ("e@example.org", "has no second factor")],
)
def test_a_second_factor_that_is_not_there_is_not_reset(imported, email, reason):
    root, _ = imported
    run("review", "adduser", root, "e@example.org")
    status, _, err = run("review", "reset-second-factor", root, email)
    assert (status, reason in err) == (2, True)


@pytest.mark.thorough
def test_without_a_password_or_a_terminal_nothing_is_made(imported):
    root, _ = imported
    arguments = ("review", "adduser", root, "d@example.org")
    status, _, err = run(*arguments, MEDRCUBE_REVIEW_PASSWORD="")
    assert (status, "MEDRCUBE_REVIEW_PASSWORD" in err) == (2, True)


@pytest.mark.thorough
def test_verify_audit_holds_the_trail_against_an_earlier_head(imported):
    root, _ = imported
    result = json.loads(run("review", "status", root, "--json")[1])["head"]
    head = f"{result['number']}:{result['sha256']}"
    status, out, _ = run("review", "verify-audit", root, "--head", head)
    assert (status, head in out) == (0, True)
    wrong = f"{result['number']}:{'0' * 64}"
    status, out, _ = run("review", "verify-audit", root, "--head", wrong)
    assert (status, "BROKEN" in out) == (1, True)
    status, _, err = run("review", "verify-audit", root, "--head", "x")
    assert (status, "expected NUMBER:SHA256" in err) == (2, True)


@pytest.mark.thorough
def test_a_command_before_the_first_import_says_so(bench):
    for name in ("status", "export", "verify-audit"):
        status, _, err = run("review", name, bench)
        assert (status, "medrcube review import" in err) == (2, True)
    assert [path.name for path in bench.iterdir()] == [CONFIG]


def test_status_of_a_folder_says_whether_workspace_or_queue_is_missing(tmp_path):
    (tmp_path / "bench").mkdir()
    ran = CliRunner().invoke(app, ["review", "status", str(tmp_path / "bench")])
    assert "is not a workspace" in str(ran.exception)
    (tmp_path / "bench" / CONFIG).touch()
    ran = CliRunner().invoke(app, ["review", "status", str(tmp_path / "bench")])
    assert "there is no review queue yet" in str(ran.exception)


def test_a_folder_that_is_no_workspace_is_left_alone(tmp_path):
    status, _, err = run("review", "serve", tmp_path / "nothing", "--admin-email", "a@example.org")
    assert (status, "is not a workspace" in err) == (2, True)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.thorough
def test_a_backup_is_restored_elsewhere(imported, tmp_path, bench):
    root, _ = imported
    assert run("review", "backup", root, tmp_path / "q.tar")[0] == 0
    status, _, err = run("review", "restore", bench, tmp_path / "q.tar")
    assert status == 0, err
    assert CONFIG not in err
    records = [json.loads(run("review", "status", at, "--json")[1]) for at in (root, bench)]
    assert records[0] == records[1]
    status, _, err = run("review", "restore", tmp_path / "new", tmp_path / "q.tar")
    assert (status, f"has no {CONFIG}; copy the workspace" in err) == (0, True)


@pytest.mark.thorough
def test_a_deployment_with_an_origin_has_nothing_to_remark(imported):
    root, _ = imported
    status, out, err = run("review", "check", root, "--origin", "https://review.example.org")
    assert (status, "no issues" in out) == (0, True), err


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("0.0.0.0", ""),  # noqa: S104  (that it is refused)
        ("::", ""),
        ("review.example.org", ""),
        ("127.0.0.1", "http://review.example.org"),
        ("127.0.0.1", "https://review.example.org/queue"),
        ("127.0.0.1", "https://me@review.example.org"),
        ("127.0.0.1", "https://"),
        ("127.0.0.1", "https://[::1"),
        ("127.0.0.1", "https://review.example.org:x"),
    ],
)
def test_an_address_that_would_send_passwords_in_clear_is_refused(host, origin):
    with pytest.raises(ReviewError, match=r"unencrypted|expected https://"):
        check_address(host, origin)


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1", ""),
        ("127.9.9.9", ""),
        ("::1", ""),
        ("localhost", ""),
        ("0.0.0.0", "https://review.example.org"),  # noqa: S104  (behind a proxy)
        ("127.0.0.1", "https://review.example.org:8443"),
    ],
)
def test_an_address_on_this_machine_or_behind_https_is_taken(host, origin):
    check_address(host, origin)


def test_a_refused_address_leaves_nothing_behind(bench):
    arguments = ("--admin-email", "a@example.org", "--host", "0.0.0.0")  # noqa: S104
    status, _, err = run("review", "serve", bench, *arguments)
    assert (status, "unencrypted" in err) == (2, True)
    assert [path.name for path in bench.iterdir()] == [CONFIG]


@pytest.mark.thorough
@pytest.mark.parametrize("file", [False, True], ids=["missing", "open to others"])
@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_secret_of_single_sign_on_that_cannot_be_used_is_refused(bench, command, file):
    arguments = ("--admin-email", "a@example.org", "--port", 0)
    if command == "check":
        (bench / "review.sqlite3").touch()
        arguments = ()
    table = '[sources]\n[review.single_sign_on]\nissuer = "https://a.example"\nclient_id = "b"\n'
    if file:
        (bench / "secret").write_text("s")
        (bench / "secret").chmod(0o644)
        table += 'secret_file = "secret"\n'
    (bench / CONFIG).write_text(table)
    status, _, err = run("review", command, bench, *arguments)
    assert (status, len(err.splitlines())) == (2, 1)
    assert ("others can read it" if file else "MEDRCUBE_REVIEW_OIDC_SECRET is empty") in err


@pytest.mark.thorough
def test_without_an_administrator_or_a_terminal_nothing_is_served(bench):
    status, _, err = run("review", "serve", bench, "--port", 0)
    assert (status, "--admin-email" in err) == (2, True)


@pytest.mark.thorough
def test_a_port_that_is_taken_is_named(bench):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        status, _, err = run(
            "review", "serve", bench, "--port", port, "--admin-email", "a@example.org"
        )
    assert (status, f"127.0.0.1:{port}" in err) == (2, True)


@pytest.mark.thorough
def test_serve_makes_everything_and_stops_cleanly(bench):
    with serving(bench, "--admin-email", "a@example.org") as (address, process):
        assert get(address + "health/")[0] == 200
        status, headers, _ = get(address)
        assert (status, headers["Location"].partition("?")[0]) == (302, "/sign-in/")
        assert "Server" not in headers or "waitress" not in headers["Server"]
        assert get(address, Host="evil.example.org")[0] == 400
        assert_stops(process, signal.SIGTERM)
    with serving(bench) as (address, process):
        assert get(address + "sign-in/")[0] == 200
        assert_stops(process, signal.SIGINT)


def assert_stops(process, number):
    process.send_signal(number)
    rest, _ = process.communicate(timeout=60)
    assert (process.returncode, "stopped" in rest) == (0, True)


@pytest.mark.thorough
def test_behind_a_proxy_only_its_word_counts(bench):
    origin = "https://review.example.org"
    options = ("--admin-email", "a@example.org", "--origin", origin)
    with serving(bench, *options) as (address, process):
        assert address == origin
        here = f"http://127.0.0.1:{_port_of(process)}/sign-in/"
        values = {"Host": "review.example.org", "X-Forwarded-For": "192.0.2.1"}
        assert get(here, **values)[0] == 301
        status, headers, _ = get(here, **values, **{"X-Forwarded-Proto": "https"})
        assert status == 200
        assert headers["Strict-Transport-Security"].startswith("max-age=31536000")
        assert "__Host-" in headers["Set-Cookie"]
        assert "Secure" in headers["Set-Cookie"]
    with serving(bench, "--origin", origin, "--proxy", "192.0.2.9") as (_, process):
        here = f"http://127.0.0.1:{_port_of(process)}/sign-in/"
        assert get(here, **values, **{"X-Forwarded-Proto": "https"})[0] == 301


def _port_of(process):
    """The port that a process listens on, as Linux tells."""
    links = Path(f"/proc/{process.pid}/fd").iterdir()
    sockets = {str(link.readlink()) for link in links if link.is_symlink()}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        parts = line.split()
        if parts[3] == "0A" and f"socket:[{parts[9]}]" in sockets:
            return int(parts[1].rpartition(":")[2], 16)
    raise AssertionError("listens on no port")


@pytest.mark.thorough
def test_the_commands_of_the_page_work_as_written(imported, tmp_path):
    """Those of docs/how-to/review-items.md that need no reviewer, on a workspace called bench."""
    root, _ = imported
    shutil.copytree(root, tmp_path / "bench", ignore=shutil.ignore_patterns("review*"))
    (tmp_path / "team.csv").write_text("email,role\ndr.b@example.org,manager\n", encoding="utf-8")
    page = (PAGES / "review-items.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    ran = []
    for line in lines:
        words = shlex.split(line)
        if words[:2] == ["medrcube", "build"] or words[0] == "pip" or "serve" in words:
            continue
        if "--runs" in words or "import" in words[3:4] or "freeze" in words:
            continue
        if words[1] == "report" or words[2] in ("human-run", "remarks"):
            continue
        if words[1] == "release":
            words += ["--allow-unreviewed", "--private"]
        result, environment = command(*words[1:])
        process = subprocess.run(
            result, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert process.returncode == 0, f"{line}\n{process.stdout}\n{process.stderr}"
        ran.append(" ".join(words[1:4]))
    assert ran == [
        "review import bench",
        "review adduser bench",
        "review addusers bench",
        "review assign specialist",
        "review assign add",
        "review assign add",
        "review policy bench",
        "review assign list",
        "review gold bench",
        "review policy bench",
        "review reviewers bench",
        "review status bench",
        "review export bench",
        "release bench release-v1",
        "review errata bench",
        "review errata bench",
        "review labelstudio export",
    ]
    assert (tmp_path / "bench/review-export/reviews.csv").is_file()
    assert (tmp_path / "tasks/config.xml").is_file()


@pytest.mark.thorough
def test_every_command_and_option_of_the_pages_exists():
    options_of_command = {}
    for page in ("let-people-in.md", "review-items.md", "run-the-review-server.md"):
        text = (PAGES / page).read_text(encoding="utf-8")
        named = re.findall(r"medrcube review ((?:labelstudio |assign )?[a-z-]+)([^\n`]*)", text)
        for name, rest in named:
            options_of_command.setdefault(name, set()).update(re.findall(r"--[a-z-]+", rest))
    options_of_command.pop("queue")  # the title of the unit
    assert len(options_of_command) > 9
    for name, options in options_of_command.items():
        assert options <= set(re.findall(r"--[a-z-]+", help_of(*name.split()))), name


def test_help_of_the_queue_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['medrcube', 'review', '--help']\n"
        "from medrcube.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'django', 'numpy', 'pandas', 'waitress', 'PIL'} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.thorough
def test_serve_asks_in_a_terminal_for_the_first_administrator_until_all_will_do(bench):
    """One command on an empty workspace: database, account, address; what is wrong is said."""
    answers = [
        ("E-mail address: ", "nobody"),
        ("'nobody' is not an e-mail address", None),
        ("E-mail address: ", "head@example.org"),
        ("more: ", "short"),
        ("Once more: ", "short"),
        ("too short", None),
        ("more: ", PASSWORD),
        ("Once more: ", PASSWORD),
        ("head@example.org can now sign in", None),
    ]
    with terminal("review", "serve", bench, "--port", 0) as (wait_for, write, process):
        for words, answer in answers:
            wait_for(words)
            if answer is not None:
                write(answer + "\n")
        address = re.search(r"http://127\.0\.0\.1:\d+/", wait_for("stop with Ctrl-C"))[0]
        with urllib.request.urlopen(f"{address}health/", timeout=30) as reply:  # noqa: S310  (ours)
            assert reply.status == 200
        process.send_signal(signal.SIGINT)
        wait_for("stopped; nothing was lost")
        assert process.wait(60) == 0
    assert (bench / "review.sqlite3").is_file()
