"""What a model is asked: which items, in which condition, in which words."""

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
