"""What the published page states from its table, computed again from the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from medrcube.evaluate.statistics.correlations.across_models import published_correlations
from medrcube.evaluate.statistics.published_table import models

ROWS = {row.model: row for row in models()}
CLOSED = {"Gemini-3-Pro", "ClaudeOpus4.5", "GPT-5.1", "Qwen3-VL-Plus"}
PAGE = Path(__file__).parents[3] / "docs/explanation/published-table.md"


def overall(model):
    return 100 * ROWS[model].accuracy("overall")


def test_the_best_model_has_the_stated_accuracy():
    best = models()[0]
    assert (best.model, round(100 * best.accuracy("overall"), 2)) == ("Lingshu-32B", 62.55)
    assert overall("Lingshu-7B") > overall("InternVL3.5-38B")


def test_most_models_recognise_protocols_in_20_to_40_of_a_hundred():
    assert sum(0.2 <= row.accuracy("IPR") <= 0.4 for row in models()) == 29


def test_the_best_open_model_recognises_62_views_of_a_hundred():
    best = max((row for row in models() if row.model not in CLOSED), key=lambda r: r.accuracy("VR"))
    assert (best.model, best.printed["VR"]) == ("Hulu-Med-32B", 62.0)


@pytest.mark.parametrize(
    ("small", "large", "gain"),
    [
        ("InternVL3.5-8B", "InternVL3.5-38B", 2.3),
        ("InternVL3-8B", "InternVL3-14B", 0.5),
        ("Lingshu-7B", "Lingshu-32B", 2.7),
        ("Qwen3-VL-8B", "Qwen3-VL-32B", -0.7),
        ("Qwen2.5-VL-7B", "Qwen2.5-VL-32B", 6.7),
        ("Huatuo-7B", "Huatuo-34B", 6.9),
        ("Hulu-Med-7B", "Hulu-Med-32B", 13.1),
    ],
)
def test_what_more_than_ten_billion_parameters_add_in_a_family(small, large, gain):
    assert overall(large) - overall(small) == pytest.approx(gain, abs=0.06)


def test_brain_goes_with_every_other_region():
    correlations = published_correlations()
    names = [name for (name,) in correlations["names"]]
    brain = names.index("Brain")
    for other, name in enumerate(names):
        if name != "Brain":
            assert correlations["interval_models"][brain][other][0] >= 0.25
            assert correlations["p_holm"][brain][other] < 0.01


def test_the_page_states_these_correlations():
    correlations = published_correlations()
    names = [name for (name,) in correlations["names"]]
    text = PAGE.read_text("utf-8")
    for i, first in enumerate(names):
        for j, second in enumerate(names[:i]):
            low, high = correlations["interval_models"][i][j]
            row = f"| {first}, {second} | {correlations['r'][i][j]:.2f} | {low:.2f} to {high:.2f} |"
            turned = (
                f"| {second}, {first} | {correlations['r'][i][j]:.2f} | {low:.2f} to {high:.2f} |"
            )
            assert row in text or turned in text, row
