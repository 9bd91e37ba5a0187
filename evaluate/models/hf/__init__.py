"""Vision-language models of transformers, on this machine and in batches."""

__all__ = ["model", "settings"]
