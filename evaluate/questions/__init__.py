"""Questions to a model: which items, in which condition, with which wording."""

__all__ = [
    "chains",
    "conditions",
    "data_agreements",
    "degradation",
    "downscaling",
    "few_shot",
    "option_letters",
    "prompts",
    "question_setup",
    "reworded",
    "selection",
    "settings",
]
