from dataclasses import replace

from medrcube.build.build_report import SourceReport
from medrcube.build.stages.reasons import reason_lines
from medrcube.facts import QuarantineRow

REPORT = SourceReport(
    source="toy",
    layout="",
    taken="",
    older=(),
    cases=0,
    absent=0,
    absent_first=(),
    set_aside=0,
    failed=0,
    pictures=0,
    items=0,
)


def _rows(code, *messages):
    return [
        QuarantineRow(source="toy", case=str(n), stage="scan", code=code, message=message)
        for n, message in enumerate(messages)
    ]


def test_each_code_has_its_number_and_its_most_frequent_message():
    rows = _rows("bad-row", "no age") + _rows("unclaimed", "no case", "no table", "no table")
    assert reason_lines(rows) == (
        "3 unclaimed: no table (so in 2 of 3)",
        "1 bad-row: no age",
    )
    assert reason_lines(()) == ()


def test_many_codes_and_long_messages_are_cut():
    rows = [row for n in range(9) for row in _rows(f"code-{n}", "x" * 1000)]
    lines = reason_lines(rows)
    assert len(lines) == 5
    assert all(line.endswith("x ...") and len(line) < 450 for line in lines)


def test_a_source_is_poor_when_more_was_set_aside_than_built():
    def is_poor(cases, set_aside, failed):
        return replace(REPORT, cases=cases, set_aside=set_aside, failed=failed).is_poor

    assert [is_poor(5, 6, 0), is_poor(5, 2, 3), is_poor(5, 5, 0)] == [True, True, False]
    assert not is_poor(0, 4, 0)  # named by the gate
