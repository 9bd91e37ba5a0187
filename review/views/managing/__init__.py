"""Views for adjudicators, managers and administrators."""

__all__ = [
    "accounts",
    "adjudication",
    "assignments",
    "audit_trail",
    "dashboards",
    "item_record",
    "items",
    "quarantine",
    "reviewer_figures",
    "wording_diff",
]
