"""Open items: questions of tasks with a rule, from case to item, apart from those of the cube."""

__all__ = [
    "asking",
    "compose",
    "located",
    "marked_places",
    "measure_rule",
    "question",
    "rule_files",
    "table",
    "wording",
]
