"""Which items are asked, and that a picture under contract never leaves this machine unasked."""

from __future__ import annotations

import base64
import json
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from medrcube.api.release import load_release
from medrcube.cli.app import app
from medrcube.errors import MedrcubeError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions import expressions
from medrcube.evaluate.questions.data_agreements import sends_outside
from medrcube.evaluate.questions.selection import ItemFilter, select_items
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.statistics.comparison.compare_many_runs import compare_many
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two

ELSEWHERE = "models.example.org"


@pytest.fixture
def mixed(tmp_path, row, write_release):
    """Two open items, two under credentialed access, two that only the release calls restricted."""
    places = [("BUSI", False), ("VINDR-CXR", True), ("UNHEARD-OF", True)]
    rows = [
        row(
            2 * place + turn,
            dataset=name,
            restricted=restricted,
            image_path=f"pictures/{name}{turn}.png",
            task=["Disease Diagnosis", "View Recognition"][turn],
            modality=["CT", "X-ray"][turn],
        )
        for place, (name, restricted) in enumerate(places)
        for turn in (0, 1)
    ]
    return write_release(tmp_path / "mixed", rows)


@pytest.fixture
def elsewhere(server, monkeypatch):
    """The server under a name of another machine, as a resolver may say."""
    resolve = socket.getaddrinfo

    def resolve_known(host, *rest, **more):
        return resolve(
            "127.0.0.1" if host in {ELSEWHERE, ELSEWHERE.encode()} else host, *rest, **more
        )

    monkeypatch.setattr(socket, "getaddrinfo", resolve_known)
    return server.url.replace("127.0.0.1", ELSEWHERE)


@pytest.fixture
def ask(mixed, server, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*options, url=None, out="run"):
        command = ["evaluate", str(mixed), "--model", "openai/stub", "--out", str(tmp_path / out)]
        outcome = CliRunner().invoke(app, [*command, "--base-url", url or server.url, *options])
        if outcome.exception and not isinstance(outcome.exception, SystemExit):
            raise outcome.exception
        return " ".join(outcome.output.split())

    return run


def manifest(tmp_path, out="run"):
    return json.loads((tmp_path / out / "manifest.json").read_text())


def sent_pictures(server):
    urls = [
        part["image_url"]["url"]
        for body in server.requests
        for part in body["messages"][-1]["content"]
        if part["type"] == "image_url"
    ]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def pictures(release, source):
    return {path.read_bytes() for path in (release / source / "pictures").iterdir()}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--condition", "full", "--condition", "image-swap"),
        ("--condition", "circular"),
        ("--selfcheck",),
    ],
)
def test_no_byte_of_a_picture_under_contract_reaches_another_machine(
    ask, server, mixed, elsewhere, options
):
    output = ask(*options, url=elsewhere)
    images = sent_pictures(server)
    assert images
    assert set(images) <= pictures(mixed, "BUSI")
    assert "left out: 4 items" in output
    assert "--i-may-send" in output


def test_the_library_keeps_contracts_too(server, mixed, elsewhere, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = open_model("openai/stub", ModelSettings(base_url=elsewhere))
    run_evaluation(load_benchmark(mixed), model, tmp_path / "run")
    assert set(sent_pictures(server)) == pictures(mixed, "BUSI")


def test_leave_for_one_source_is_for_that_source_and_on_record(
    ask, server, mixed, elsewhere, tmp_path
):
    output = ask("--i-may-send", "vindr-cxr", url=elsewhere)
    assert set(sent_pictures(server)) == pictures(mixed, "BUSI") | pictures(mixed, "VINDR-CXR")
    assert manifest(tmp_path)["may_send"] == ["VINDR-CXR"]
    assert manifest(tmp_path)["selection"]["by_source"] == {"UNHEARD-OF": 2}
    assert output.count("sent to another machine, as you stated you may") == 1
    assert "credentialed access" in output


def test_on_this_machine_everything_is_asked(ask, server, mixed):
    assert "left out" not in ask()
    assert len(server.requests) == 6


def test_a_comparison_says_what_an_agreement_left_out(ask, elsewhere, tmp_path):
    ask()
    ask(url=elsewhere, out="remote")
    words = (
        r"remote: 2 chosen of 6; left out 4 that may not be sent "
        r"\(of UNHEARD-OF, VINDR-CXR; see --i-may-send\)"
    )
    with pytest.raises(WorkspaceError, match=words):
        compare_two(tmp_path / "run", tmp_path / "remote")
    write_report([tmp_path / "run", tmp_path / "remote"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "no reply</span>" not in page
    assert "not asked</span>" in page
    assert "Not counted here: openai/stub (remote), 2 chosen of 6; left out 4 that may" in page


def test_leave_for_a_source_that_needs_none_is_a_mistake(ask, elsewhere):
    with pytest.raises(WorkspaceError, match="needs permission"):
        ask("--i-may-send", "busi", url=elsewhere)


@pytest.mark.parametrize(
    ("url", "outside"),
    [
        ("http://127.0.0.1:8000/v1", False),
        ("http://127.9.9.9:8000/v1", False),
        ("http://[::1]:8000/v1", False),
        ("http://localhost:8000/v1", False),
        ("http://localhost.example.org/v1", True),
        ("http://127.0.0.1.example.org/v1", True),
        ("http://10.0.0.1:8000/v1", True),
        ("https://api.example.org/v1", True),
    ],
)
def test_an_address_is_this_machine_only_where_it_is_written_so(url, outside):
    assert sends_outside(open_model("openai/m", ModelSettings(base_url=url))) is outside


def test_a_model_of_another_package_that_tells_no_address_is_elsewhere(scripted_model):
    assert sends_outside(scripted_model())


@pytest.fixture
def ask_scripted(mixed, tmp_path, monkeypatch, scripted_model):
    """Run the command on a model of another package."""

    def run(*options, here):
        model = scripted_model()
        if here:
            model.runs_here = True
        monkeypatch.setattr("medrcube.evaluate.models.registry.open_model", lambda *_: model)
        command = ["evaluate", str(mixed), "--model", "lab/x", "--out", str(tmp_path / "run")]
        outcome = CliRunner().invoke(app, [*command, *options])
        if outcome.exception and not isinstance(outcome.exception, SystemExit):
            raise outcome.exception
        return len(model.requests), " ".join(outcome.output.split())

    return run


def test_a_model_of_another_package_may_declare_that_it_runs_here(ask_scripted):
    count, output = ask_scripted("--i-may-send", "vindr-cxr", here=True)
    assert count == 6
    assert "left out" not in output
    assert "sent to" not in output


def test_without_that_the_output_names_the_declaration_and_claims_no_other_machine(ask_scripted):
    count, output = ask_scripted("--i-may-send", "vindr-cxr", here=False)
    assert count == 4
    assert "scripted/1 does not declare where it runs" in output
    assert "runs_here = True" in output
    assert "sent to another machine" not in output
    assert "given to scripted/1, which does not declare that it runs on this machine" in output


@pytest.mark.parametrize("name", ["nope", "busi"])
def test_leave_for_an_unknown_source_is_a_mistake_with_a_local_model_too(
    ask, mixed, tmp_path, name
):
    with pytest.raises(WorkspaceError, match=f"{name} is not a source of this release that needs"):
        ask("--i-may-send", name)
    with pytest.raises(WorkspaceError, match=f"{name} is not a source of this release that needs"):
        load_release(mixed).evaluate("baseline/first", tmp_path / "run", may_send=[name])


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("--task", "View Recognition"), 3),
        (("--task", "view recognition", "--task", "Disease Diagnosis"), 6),
        (("--modality", "CT", "--source", "busi"), 1),
        (("--anatomy", "Chest"), 6),
        (("--where", "source == 'BUSI' or not restricted"), 2),
        (("--where", "options > 3 and '5' in question"), 1),
        (("--where", "task in ('View Recognition', 'x') and modality != 'CT'"), 3),
    ],
)
def test_options_choose_items(ask, server, options, count):
    ask(*options)
    assert len(server.requests) == count


def test_a_list_names_items(ask, server, tmp_path):
    (tmp_path / "ids").write_text("# mine\nBUSI/q000\n\nq003\n")
    ask("--ids", str(tmp_path / "ids"))
    assert len(server.requests) == 2
    (tmp_path / "ids").write_text("BUSI/q000\nnobody\n")
    with pytest.raises(WorkspaceError, match="nobody"):
        ask("--ids", str(tmp_path / "ids"), out="other")


def test_a_choice_that_leaves_nothing_is_refused(ask):
    with pytest.raises(WorkspaceError, match="no item"):
        ask("--where", "options > 9")


def test_only_pictures_that_are_there_are_asked_and_the_report_says_so(ask, mixed, tmp_path):
    (mixed / "BUSI/pictures/BUSI0.png").unlink()
    output = ask("--present-only")
    assert "left out: 1 item, whose image is missing" in output
    assert "INCOMPLETE" not in output
    assert "0 missing image" in output
    write_report([tmp_path / "run"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    words = "asked 5 chosen items of a release of 6.</strong> 1 more were selected but left out"
    assert 0 < page.index(words) < page.index('class="figure"')


def test_a_run_of_another_choice_is_another_run(ask, tmp_path):
    ask("--task", "View Recognition")
    with pytest.raises(WorkspaceError, match="another selection") as error_info:
        ask()
    words = str(error_info.value)
    assert "items: 3 chosen of 6 in the run, all 6 items now" in words
    assert "options that differ: --task, --anatomy, --modality" in words
    assert "digest" not in words
    with pytest.raises(WorkspaceError, match="another selection"):
        ask("--modality", "CT")


def test_an_error_on_resuming_names_the_option_that_differs(ask, mixed, elsewhere):
    ask("--i-may-send", "vindr-cxr", url=elsewhere)
    with pytest.raises(WorkspaceError, match="another selection") as error_info:
        ask(url=elsewhere)
    words = str(error_info.value)
    assert "4 chosen of 6; left out 2 that may not be sent (of UNHEARD-OF" in words
    assert words.count("options that differ: --i-may-send") == 1
    assert "--task" not in words
    (mixed / "BUSI/pictures/BUSI0.png").unlink()
    ask(out="other")
    with pytest.raises(WorkspaceError, match="options that differ: --present-only\n"):
        ask("--present-only", out="other")


def test_the_same_items_chosen_in_two_ways_are_one_choice(ask):
    ask("--task", "View Recognition")
    assert "3 reused" in ask("--modality", "X-ray")


def test_runs_of_different_choices_are_not_compared_as_one(ask, tmp_path):
    ask()
    ask("--task", "View Recognition", out="part")
    runs = [tmp_path / "run", tmp_path / "part"]
    assert len({run.benchmark for run in load_runs(runs)}) == 2
    words = (
        r"different selections of one release \(.*run: all 6 items; .*part: 3 chosen of 6\); "
        r"add  --common .* on the items that both were asked"
    )
    with pytest.raises(WorkspaceError, match=words):
        compare_two(*runs)
    with pytest.raises(WorkspaceError, match=r"different selections.*that all were asked"):
        compare_many([*runs, runs[0]])
    write_report(runs, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "These runs were asked different selections of one release." in page
    assert "different releases" not in page
    assert "all 6 items" in page
    assert "3 chosen of 6" in page
    assert compare_two(*runs, common=True)["items"]["common"] == 3


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "task.__class__",
        "(lambda: 1)()",
        "[x for x in task]",
        "open('f')",
        "options ** 9",
        "f'{task}'",
        "nobody == 1",
        "task ==",
        "task is None",
        "",
        "options < 'x'",
    ],
)
def test_an_expression_can_only_compare_columns(text, benchmark):
    with pytest.raises(WorkspaceError, match="--where"):
        [expressions.parse(text)(item) for item in benchmark.items]


@given(st.text(max_size=60))
def test_an_expression_of_any_text_is_read_or_refused(text):
    try:
        expressions.parse(text)
    except MedrcubeError:
        return


@pytest.mark.parametrize("text", ['options != "4"', 'options in (3, "4")', "anatomy == 3"])
def test_a_number_is_not_compared_with_text(text):
    with pytest.raises(WorkspaceError, match="compares a number with text"):
        expressions.parse(text)


@pytest.mark.parametrize(
    "text", ['anatomy == "chest"', 'anatomy != "chest"', 'not anatomy in ("chest",)']
)
def test_a_value_that_no_item_has_is_refused_with_those_that_there_are(mixed, text):
    items = load_benchmark(mixed).items
    with pytest.raises(WorkspaceError, match="no item has anatomy chest; there are Chest"):
        select_items(load_benchmark(mixed), ItemFilter(where=text))
    assert select_items(
        load_benchmark(mixed), ItemFilter(where='anatomy == "Chest"')
    ).matches == len(items)


@pytest.mark.parametrize("text", ["'colour' == 'x'", "1 < 2", "True"])
def test_an_expression_that_names_no_column_is_refused(text):
    with pytest.raises(WorkspaceError, match="names no column"):
        expressions.parse(text)
