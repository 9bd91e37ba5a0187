import re
from xml.etree import ElementTree as ET

import pytest

from medrcube.review.quality.svg_charts import BarRow, IntervalRow, bar_chart, interval_chart

HOSTILE = "<script>alert(1)</script>\"'&"


def parsed(chart):
    return ET.fromstring(str(chart))  # noqa: S314  (our own drawing)


def test_the_longest_bar_is_the_largest_value():
    chart = parsed(
        bar_chart(
            "a", "Title", [BarRow("one", 5, "5"), BarRow("two", 10, "10"), BarRow("no", 0, "0")]
        )
    )
    widths = [float(bar.get("width")) for bar in chart.iter("rect")]
    assert widths[1] == 2 * widths[0]
    assert widths[2] == 0


def test_a_chart_says_in_words_what_it_shows():
    chart = parsed(bar_chart("states", "Items by state", [BarRow("queued", 5, "5 (50%)")]))
    named = {part.get("id"): part.text for part in chart if part.tag in ("title", "desc")}
    assert [named[name] for name in chart.get("aria-labelledby").split()] == [
        "Items by state",
        "queued 5 (50%)",
    ]
    assert chart.get("role") == "img"


def test_a_chart_without_rows_or_values_is_drawn():
    assert parsed(bar_chart("a", "Title", [])).get("viewBox").endswith(" 0")
    assert len(list(parsed(bar_chart("a", "Title", [BarRow("no", 0, "0")])).iter("rect"))) == 1


def test_a_point_stands_between_the_ends_of_its_interval():
    chart = parsed(interval_chart("a", "Title", [IntervalRow("AC1", 0.4, 0.1, 0.8, "0.4")]))
    point = float(chart.find("circle").get("cx"))
    ends = [float(line.get("x1")) for line in chart.iter("line") if line.get("class") == "range"]
    assert min(ends) < point < max(ends)


def test_what_has_no_value_has_no_point():
    chart = parsed(interval_chart("a", "Title", [IntervalRow("kappa", None, None, None, "none")]))
    assert chart.find("circle") is None
    assert "kappa" in "".join(chart.itertext())


def test_what_lies_beyond_the_scale_is_drawn_at_its_end():
    rows = [IntervalRow("AC1", -3.0, -5.0, 1.0, "-3"), IntervalRow("AC1", -1.0, -1.0, 1.0, "-1")]
    beyond, end = parsed(interval_chart("a", "Title", rows)).iter("circle")
    assert beyond.get("cx") == end.get("cx")


@pytest.mark.parametrize(
    "chart",
    [
        bar_chart(HOSTILE, HOSTILE, [BarRow(HOSTILE, 1, HOSTILE)]),
        interval_chart(HOSTILE, HOSTILE, [IntervalRow(HOSTILE, 0.1, 0.0, 0.2, HOSTILE)]),
    ],
)
def test_text_stays_text_and_nothing_needs_a_style_attribute(chart):
    tags = {part.tag for part in parsed(chart).iter()}
    assert tags <= {"svg", "title", "desc", "text", "rect", "line", "circle"}
    assert not re.search(r"\s(style|on\w+|href)=", str(chart))
