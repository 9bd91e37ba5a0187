"""Views of reviewers."""

__all__ = [
    "evidence_text",
    "images",
    "open_sheet",
    "own_reviews",
    "personal_data",
    "sheet_parts",
    "steps",
]
