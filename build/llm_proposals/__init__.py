"""Distractors proposed by a language model: demand, resolution, safety."""

__all__ = ["proposing"]
