import json
import re

import pytest
from rich.console import Console

from medrcube.console import progress
from medrcube.console.progress import Reporter
from medrcube.console.verbosity import Verbosity, at_verbosity, verbosity


@pytest.fixture
def terminal():
    """A reporter on a terminal of 80 columns, and what the terminal shows."""
    reporter = Reporter()
    reporter._err = Console(force_terminal=True, width=80, record=True)
    return reporter


def test_a_terminal_shows_a_bar_with_counts_and_time_left(terminal):
    with terminal.stage("render", 10) as advance:
        advance(4)
    output = terminal._err.export_text()
    assert "render" in output
    assert "left" in output


def test_many_words_leave_count_and_time_left_on_a_terminal_of_eighty_columns(terminal):
    words = "116.6 a second, 23 of 24 under way, 3 failed, 69 retried, 0.19 US dollars"
    with terminal.stage("evaluate", 700, lambda: words) as advance:
        advance(350)
    output = terminal._err.export_text().splitlines()
    assert any(line.startswith("evaluate") and "350/700 left" in line for line in output)
    assert words in output


def test_without_a_terminal_lines_are_few_and_tell_the_time_left(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.0)
    with Reporter().stage("render", 4) as advance:
        for _ in range(4):
            advance()
    err = capsys.readouterr().err
    assert "render: 1 of 4, about" in err
    assert "4 of 4" not in err


def test_long_waiting_for_the_first_unit_is_told_without_a_time_left(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.0)
    with Reporter().stage("evaluate", 4, lambda: "1 of 1 under way") as advance:
        advance(0)
    assert capsys.readouterr().err == "evaluate: 0 of 4, 1 of 1 under way\n"


def test_a_long_line_without_a_terminal_stays_one_line(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.0)
    with Reporter().stage("evaluate", 4, lambda: "x" * 70 + " under way") as advance:
        advance(0)
    assert capsys.readouterr().err == f"evaluate: 0 of 4, {'x' * 70} under way\n"


def test_short_work_without_a_terminal_is_silent(capsys):
    with Reporter().stage("render", 4) as advance:
        advance(4)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("reporter", [Reporter(quiet=True), Reporter(json_output=True)])
def test_a_program_sees_no_progress_and_no_notes(reporter, capsys):
    with reporter.stage("render", 4) as advance:
        advance(4)
    reporter.note("hello")
    assert capsys.readouterr().err == ""


def test_a_program_gets_one_object_and_nothing_else(capsys):
    reporter = Reporter(json_output=True)
    reporter.result("for people")
    reporter.table(("a",), [(1,)])
    reporter.data({"a": 1})
    assert json.loads(capsys.readouterr().out) == {"a": 1}


def test_a_person_gets_text_and_no_object(capsys):
    reporter = Reporter()
    reporter.result("[brackets] are text")
    reporter.table(("name", "count"), [("x", 1234567)])
    reporter.data({"a": 1})
    out = capsys.readouterr().out
    assert "[brackets] are text" in out
    assert "1,234,567" in out
    assert "{" not in out


def test_a_stage_of_unknown_length_is_a_count_that_grows(terminal):
    with terminal.stage("files", None) as advance:
        advance(1_200)
    assert "files      1,200" in terminal._err.export_text()


def test_without_a_terminal_a_stage_of_unknown_length_prints_its_count_now_and_then(
    monkeypatch, capsys
):
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.0)
    with Reporter().stage("files", None) as advance:
        advance(1_200)
        advance(5)
    assert capsys.readouterr().err == "files: 1,200 so far\nfiles: 1,205 so far\n"


def test_a_short_stage_of_unknown_length_is_silent_without_a_terminal(capsys):
    with Reporter().stage("files", None) as advance:
        advance(5)
    assert capsys.readouterr().err == ""


CARDS = [("mimic-cxr-jpg", 377_110, "PhysioNet Credentialed Health Data License 1.5.0", "DD AD")]


def columns_of(width, *, wide=False):
    reporter = Reporter(wide=wide)
    reporter._out = Console(force_terminal=True, width=width, record=True, soft_wrap=True)
    return reporter


@pytest.mark.parametrize("width", [30, 44, 60, 80, 200])
def test_an_id_stays_whole_and_a_row_on_one_line_however_narrow_the_terminal(width, capsys):
    reporter = columns_of(width)
    reporter.table(("id", "images", "licence", "tasks"), CARDS)
    _, row = reporter._out.export_text().rstrip().splitlines()
    assert "mimic-cxr-jpg" in row
    assert len(row.rstrip()) <= width
    assert ("--wide" in capsys.readouterr().err) == (CARDS[0][2] not in row)


def test_a_number_is_whole_or_its_column_is_left_out():
    for width in range(20, 80):
        reporter = columns_of(width)
        reporter.table(("id", "images", "licence", "tasks"), CARDS)
        row = reporter._out.export_text().splitlines()[1]
        assert "377" not in row or "377,110" in row


def test_wide_rows_that_do_not_fit_become_blocks_without_a_broken_word():
    reporter = columns_of(40, wide=True)
    row = ("BUSI/busi-000123", "Ultrasound", "seventeen words " * 4)
    reporter.table(("item", "modality", "why"), [row])
    output = reporter._out.export_text()
    assert {"BUSI/busi-000123", "Ultrasound", "modality"} <= set(output.split())
    assert output.split().count("seventeen") == 4
    assert max(map(len, output.splitlines())) <= 40


def test_a_figure_in_words_is_whole_or_its_column_is_left_out(capsys):
    rows = [
        ("all the items of the run", "61.2", "55.0 to 63.2"),
        ("Disease Diagnosis", "3.1", "\u2013"),
    ]
    for width in range(24, 50):
        reporter = columns_of(width, wide=None)
        reporter.table(("task", "A %", "95 % interval"), rows)
        output = reporter._out.export_text()
        assert "55.0" not in output or "55.0 to 63.2" in output
        assert ("95 % interval" in capsys.readouterr().err) == ("55.0" not in output)


def test_numbers_stand_under_each_other_whatever_their_sign_and_where_one_is_missing():
    reporter = columns_of(60)
    rows = [
        ("all", "30.0", "+0.5 to 2.0"),
        ("some", "\u2212101.2", "\u2013"),
        ("none", "\u2013", "\u2013"),
    ]
    reporter.table(("task", "A - B", "interval"), rows)
    head, *lines = [line.rstrip() for line in reporter._out.export_text().splitlines()]
    end = head.index("A - B") + len("A - B")
    assert [line[:end].split()[-1] for line in lines] == [row[1] for row in rows]
    assert {line[end : end + 2] for line in lines} == {"  "}
    assert {line[end + 2] for line in lines} == {"+", "\u2013"}


def test_a_hint_names_only_an_option_that_the_command_has(capsys):
    for wide, words in ((None, "a pipe shows all"), (False, "--wide shows all")):
        columns_of(20, wide=wide).table(("id", "why"), [("a", "word " * 20)])
        assert capsys.readouterr().err == f"cut to 20 columns: why; {words}\n"


@pytest.mark.parametrize(
    ("level", "notes"),
    [
        (Verbosity.QUIET, ""),
        (Verbosity.NORMAL, "a note\n"),
        (Verbosity.VERBOSE, "a note\nrender: 0.0 s\n"),
    ],
)
def test_verbosity_decides_on_notes_and_times_and_never_on_results(level, notes, capsys):
    with at_verbosity(level):
        reporter = Reporter()
        reporter.note("a note")
        with reporter.stage("render", 4) as advance:
            advance(4)
        reporter.result("a result")
    assert capsys.readouterr() == ("a result\n", notes)
    assert verbosity() is Verbosity.NORMAL


def test_lists_are_whole_when_the_command_is_verbose():
    assert Reporter().limit(3) == 3
    with at_verbosity(Verbosity.VERBOSE):
        assert Reporter().limit(3) is None


def test_forced_colour_makes_no_terminal_of_a_pipe(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    Reporter().table(("id", "why"), [("BUSI/busi-000123", "word " * 60 + "end")])
    out = capsys.readouterr().out
    assert "\x1b[1m" in out
    assert "end" in out


def test_no_colour_is_written_where_none_is_wanted(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    console = Reporter()._out
    assert console.no_color


def test_without_a_terminal_every_cell_is_whole(capsys):
    Reporter().table(("id", "why"), [("BUSI/busi-000123", "word " * 60 + "end")])
    _, row = capsys.readouterr().out.rstrip().splitlines()
    assert row.endswith("end")


@pytest.mark.parametrize("width", [None, 80])
def test_a_table_without_rows_is_one_sentence_and_no_titles(width, capsys):
    reporter = Reporter() if width is None else columns_of(width)
    reporter.table(("no.", "items"), [], empty="no assignments yet")
    reporter.table(("no.", "items"), [])
    output = capsys.readouterr().out if width is None else reporter._out.export_text()
    assert output == "no assignments yet\nnothing to list\n"


def test_a_program_gets_no_sentence_for_a_table_without_rows(capsys):
    Reporter(json_output=True).table(("no.", "items"), [], empty="no assignments yet")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("colour", [False, True])
def test_no_line_of_a_table_in_a_pipe_ends_in_blanks(colour, monkeypatch, capsys):
    if colour:
        monkeypatch.setenv("FORCE_COLOR", "1")
    rows = [("busi", "a long text", ""), ("vindr-cxr", "short", "")]
    Reporter().table(("id", "licence", "a title"), rows)
    out = capsys.readouterr().out
    lines = re.sub("\x1b\\[[0-9;]*m", "", out).splitlines()
    assert lines == [line.rstrip() for line in lines]
    assert lines[2] == "vindr-cxr  short"


def test_no_line_of_a_table_on_a_terminal_ends_in_blanks():
    for wide in (False, True):
        reporter = columns_of(40, wide=wide)
        reporter.table(("id", "why"), [("busi", "seventeen words " * 4), ("acdc", "few")])
        lines = reporter._out.export_text().splitlines()
        assert lines == [line.rstrip() for line in lines]
        assert "acdc" in "".join(lines)
