"""Rule of the task: measures whose card names it, asked as in ``measure_rule``."""

from __future__ import annotations

from medrcube.build.open_items.measure_rule import MeasureRule

rule = MeasureRule()
