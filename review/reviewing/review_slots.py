"""Free review slots of a version, under the policy.

At least K of N reviews must be by specialists: others get N - K slots, and the last ones are
reserved for specialists. If a version has N reviews and too few by specialists, because the rule
was introduced later, it has an additional slot for each missing one.
"""

from __future__ import annotations

from collections.abc import Collection

from medrcube.review.assigning.specialties import SqlCondition
from medrcube.review.reviewing.policy import Policy

__all__ = ["free_slot_condition", "has_free_slot", "is_reserved"]


def has_free_slot(specialist_flags: Collection[bool], rules: Policy, *, specialist: bool) -> bool:
    """Whether a reviewer may take a slot.

    Args:
        specialist_flags: for each slot with a claim or review, whether it is a specialist's.
        rules: policy of the project.
        specialist: whether the reviewer is a specialist for this item.
    """
    special = sum(specialist_flags)
    if specialist and special < rules.specialists:
        return True
    if len(specialist_flags) >= rules.reviews:
        return False
    return specialist or len(specialist_flags) - special < rules.reviews - rules.specialists


def is_reserved(specialist_flags: Collection[bool], rules: Policy) -> bool:
    """Whether the free slots are reserved for specialists."""
    return has_free_slot(specialist_flags, rules, specialist=True) and not has_free_slot(
        specialist_flags, rules, specialist=False
    )


def free_slot_condition(specialist: SqlCondition, rules: Policy) -> SqlCondition:
    """Return ``has_free_slot`` as an SQL condition on an item ``i`` and its version ``v``."""
    of = "FROM review_claim c WHERE c.version_id = v.id AND c.released_at IS NULL"
    if not rules.specialists:
        return SqlCondition(f"%s > (SELECT count(*) {of})", (rules.reviews,))
    special = "count(*) FILTER (WHERE c.specialist)"
    sql = f"""
        (SELECT CASE WHEN {specialist.sql} THEN count(*) < %s OR {special} < %s
        ELSE count(*) < %s AND count(*) - {special} < %s END {of})
    """
    others = rules.reviews - rules.specialists
    values = (*specialist.values, rules.reviews, rules.specialists, rules.reviews, others)
    return SqlCondition(sql, values)
