"""Item-writing rules that can be checked automatically on a single question.

From the NBME guide (criteria listed in BMC Med Educ 2016, doi 10.1186/s12909-016-0559-7) and the
19-criteria rubric of SAQUET and BenchMarker (arXiv 2602.06221). An error blocks an item, a warning
goes to the reviewer. Rules over a whole batch (key position, predictability) are in
``build/audit/batch_rules.py``. Where the guide asks for options in alphabetical order, keys are
instead spread evenly over the positions, which gives away no more and can be checked.
"""

from __future__ import annotations

from medrcube.ontologies.item_rules.cueing import CUE_RULES
from medrcube.ontologies.item_rules.forms import FORM_RULES
from medrcube.ontologies.item_rules.numbers import NUMBER_RULES
from medrcube.ontologies.item_rules.options import COUNT_RULE, OPTION_RULES
from medrcube.ontologies.item_rules.rule_types import (
    ERROR,
    WARNING,
    Flaw,
    ItemRule,
    ItemText,
    RuleLevel,
)
from medrcube.ontologies.item_rules.stem import STEM_RULES

__all__ = [
    "ERROR",
    "RULES",
    "STEM_RULES",
    "WARNING",
    "Flaw",
    "ItemRule",
    "ItemText",
    "RuleLevel",
    "lint",
    "stem",
]

RULES: tuple[ItemRule, ...] = tuple(
    sorted(
        (COUNT_RULE, *STEM_RULES, *OPTION_RULES, *FORM_RULES, *CUE_RULES, *NUMBER_RULES),
        key=lambda rule: rule.level != ERROR,
    )
)
"""Every rule on a single question, errors first."""


def lint(draft: ItemText) -> tuple[Flaw, ...]:
    """Check one question against every rule; errors first.

    A draft without two options including a key gets that error alone, since every other rule
    compares options.
    """
    broken = _flaws(COUNT_RULE, draft)
    if broken:
        return broken
    return tuple(flaw for rule in RULES for flaw in _flaws(rule, draft))


def _flaws(rule: ItemRule, draft: ItemText) -> tuple[Flaw, ...]:
    return tuple(
        Flaw(rule=rule.id, level=rule.level, message=message) for message in rule.check(draft)
    )
