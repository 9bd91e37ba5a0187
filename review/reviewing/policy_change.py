"""Changes of the policy during a project; the trail records the old and the new one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from medrcube.review.assigning import specialist_rule
from medrcube.review.audit_trail import event_chain
from medrcube.review.errors import ReviewError
from medrcube.review.models import Claim, Project
from medrcube.review.reviewing.policy import Policy, current_policy

__all__ = ["change_policy", "parse_changes"]

_FROM_THE_START = ("reviews", "seed")
"""Rules that are fixed once an item was handed out, because its reviews depend on them."""


def change_policy(actor: str, changes: Mapping[str, Any]) -> Policy:
    """Update the policy with new values.

    Args:
        actor: pseudonym of the person who changes it.
        changes: name of a rule -> its value, as in ``Policy``.

    Raises:
        ReviewError: a name is unknown, a value is out of range, or the rule is fixed because an
            item has been handed out.
    """
    with transaction.atomic():
        # Lock first: a concurrent review ends before, or begins after.
        current_policy()  # raises if there is no project
        project = Project.objects.select_for_update().get()
        before = Policy.from_json(project.policy)
        after = Policy.from_json({**before.to_json(), **changes})
        fixed = [name for name in _FROM_THE_START if getattr(before, name) != getattr(after, name)]
        if fixed and Claim.objects.exists():
            raise ReviewError(
                f"policy: {fixed[0]} can no longer be changed, because items have been handed "
                "out; set it before the first reviewer starts"
            )
        if after != before:
            project.policy = after.to_json()
            project.save(update_fields=["policy"])
            body = {"before": before.to_json(), "after": after.to_json()}
            entry = event_chain.NewEvent(
                actor=actor, kind="policy.changed", object=f"project:{project.name}"[:96], body=body
            )
            now = timezone.now()
            moved = specialist_rule.apply_specialist_rule(before, after, actor, now)
            event_chain.record_events(now, entry, *moved)
    return after


def parse_changes(words: list[str]) -> dict[str, Any]:
    """Parse ``NAME=VALUE`` words into rules and values.

    Raises:
        ReviewError: a word has no ``=``, or its value is not a number.
    """
    changes = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            changes[name] = json.loads(value)
        except ValueError:
            equals = ""
        if not equals:
            raise ReviewError(f"policy: {word!r}, expected NAME=NUMBER such as reviews=3")
    return changes
