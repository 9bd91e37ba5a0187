"""Correlations of abilities across models."""

__all__ = ["across_models"]
