"""Shortcuts: how often an answer without the image passes."""

__all__ = [
    "image_size",
    "number_priors",
    "number_shortcuts",
    "pair_split",
    "place_prior",
    "shortcut_baselines",
    "text_prior",
]
