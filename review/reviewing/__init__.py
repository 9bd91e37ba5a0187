"""Claims, the two steps of a review, and the state machine of items."""

__all__ = [
    "claims",
    "consensus",
    "decisions",
    "edits",
    "external_reviews",
    "item_versions",
    "open_answers",
    "policy",
    "policy_change",
    "prioritization",
    "questionnaire",
    "review_slots",
    "state_machine",
    "step_forms",
    "steps",
    "submissions",
    "voiding",
]
