"""Facts to items: question candidates, safe options, quotas, wording."""

__all__ = [
    "case_facts",
    "compose",
    "eligibility",
    "fact_rules",
    "item_sets",
    "item_table",
    "item_text",
    "label_cooccurrence",
    "option_blocks",
    "question_wording",
    "roi_boxes",
    "task_rules",
]
