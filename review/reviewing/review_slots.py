"""Free review slots of a version, under the policy.

Of N reviews at least K come from specialists: others get N - K places, so the last ones are kept
until a specialist takes them. Where a version has N reviews and too few by specialists, because the
rule came later, there is a place more for each that is missing.
"""

from __future__ import annotations

from collections.abc import Collection

from medrcube.review.assigning.specialties import SqlCondition
from medrcube.review.reviewing.policy import Policy

__all__ = ["free_slot_condition", "has_free_slot", "is_reserved"]


def has_free_slot(taken: Collection[bool], rules: Policy, *, specialist: bool) -> bool:
    """Whether a reviewer may take a place.

    Args:
        taken: for each place that has a claim or a review, whether it is a specialist's.
        rules: of the project.
        specialist: whether the reviewer is one for this item.
    """
    special = sum(taken)
    if specialist and special < rules.specialists:
        return True
    if len(taken) >= rules.reviews:
        return False
    return specialist or len(taken) - special < rules.reviews - rules.specialists


def is_reserved(taken: Collection[bool], rules: Policy) -> bool:
    """Whether only specialists have a place."""
    return has_free_slot(taken, rules, specialist=True) and not has_free_slot(
        taken, rules, specialist=False
    )


def free_slot_condition(specialist: SqlCondition, rules: Policy) -> SqlCondition:
    """``has_free_slot`` as a condition on an item ``i`` with its version ``v``."""
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
