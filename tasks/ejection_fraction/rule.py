"""The numbers that cards name this task for; ``measure_rule`` says how they are asked."""

from __future__ import annotations

from medrcube.build.open_items.measure_rule import MeasureRule

rule = MeasureRule()
