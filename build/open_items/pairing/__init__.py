"""Pairs of open questions: matching, and cues that tell the images of a pair apart."""

__all__ = ["contrast", "pairs", "unpaired_columns"]
