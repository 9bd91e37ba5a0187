"""Facts to items: question candidates, safe options, quotas, wording."""

__all__ = [
    "case_facts",
    "compose",
    "eligibility",
    "fact_rules",
    "item_sets",
    "item_table",
    "item_text",
    "key_balance",
    "question_wording",
    "quotas",
    "roi_boxes",
    "task_rules",
]
