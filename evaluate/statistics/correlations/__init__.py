"""Correlations of abilities across models."""
