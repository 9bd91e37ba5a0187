"""Parts of the commands that ask models and score runs."""

__all__ = ["asking", "each_model", "score_replies"]
