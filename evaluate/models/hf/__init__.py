"""Vision-language models of transformers, run locally in batches."""

__all__ = ["model", "settings"]
