"""Whether a version has a place for one more reader, by the rules of the project.

Of N reviews at least K come from specialists: others get N - K places, so the last ones are kept
until a specialist takes them. Where a version has N reviews and too few by specialists, because the
rule came later, there is a place more for each that is missing.
"""

from __future__ import annotations

from collections.abc import Collection

from medrcube.review.assigning.specialties import Condition
from medrcube.review.reviewing.policy import Policy

__all__ = ["has_place", "is_kept", "place_for"]


def has_place(taken: Collection[bool], rules: Policy, *, specialist: bool) -> bool:
    """Whether a reader may take a place.

    Args:
        taken: for each place that has a claim or a review, whether it is a specialist's.
        rules: of the project.
        specialist: whether the reader is one for this item.
    """
    special = sum(taken)
    if specialist and special < rules.specialists:
        return True
    if len(taken) >= rules.reviews:
        return False
    return specialist or len(taken) - special < rules.reviews - rules.specialists


def is_kept(taken: Collection[bool], rules: Policy) -> bool:
    """Whether only specialists have a place."""
    return has_place(taken, rules, specialist=True) and not has_place(
        taken, rules, specialist=False
    )


def place_for(specialist: Condition, rules: Policy) -> Condition:
    """``has_place`` as a condition on an item ``i`` with its version ``v``."""
    of = "FROM review_claim c WHERE c.version_id = v.id AND c.released_at IS NULL"
    if not rules.specialists:
        return Condition(f"%s > (SELECT count(*) {of})", (rules.reviews,))
    special = "count(*) FILTER (WHERE c.specialist)"
    sql = f"""
        (SELECT CASE WHEN {specialist.sql} THEN count(*) < %s OR {special} < %s
        ELSE count(*) < %s AND count(*) - {special} < %s END {of})
    """
    others = rules.reviews - rules.specialists
    values = (*specialist.values, rules.reviews, rules.specialists, rules.reviews, others)
    return Condition(sql, values)
