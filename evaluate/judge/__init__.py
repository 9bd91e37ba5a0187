"""A language model as judge of replies that no rule can parse."""

__all__ = ["prompt", "run"]
