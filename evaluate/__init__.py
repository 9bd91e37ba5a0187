"""Evaluate any multimodal model on a release, with sound statistics.

``dataset`` loads a release, ``models`` connects to a model, ``runner`` asks it and stores every
reply, ``scoring`` turns replies into outcomes and metrics, ``reporting`` and ``html_report``
present them. Nothing here needs the packages that build a benchmark.
"""

__all__ = [
    "answer_parsing",
    "batch_invariance",
    "benchmark_item",
    "collection_pause",
    "dataset",
    "errata",
    "html_report",
    "image_files",
    "item_encoding",
    "outcomes",
    "reply_outcomes",
    "score_files",
    "scoring",
    "statistics",
    "stored_scores",
    "withdrawn_items",
]
