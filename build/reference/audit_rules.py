"""Reference page of item rules and batch rules."""

from __future__ import annotations

from medrcube.build.audit.batch_rules import BATCH_RULES
from medrcube.build.audit.open_rules import OPEN_RULES
from medrcube.ontologies.item_rules import RULES
from medrcube.templates import render_card

__all__ = ["rules_page"]


def rules_page() -> str:
    """Return the Markdown page: every rule with its level, what it requires and what to change."""
    return render_card(
        "item_rules.md", item_rules=RULES, batch_rules=BATCH_RULES, open_rules=OPEN_RULES
    )
