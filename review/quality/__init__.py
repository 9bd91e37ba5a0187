"""Agreement, gold items, and figures per reviewer."""

__all__ = [
    "agreement",
    "agreement_gate",
    "cached_figures",
    "gold_draw",
    "gold_items",
    "progress",
    "rating_counts",
    "reviewer_figures",
    "svg_charts",
]
