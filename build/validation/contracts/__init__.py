"""Contracts: rules on every row of the tables of a release, evaluated on views of them."""

__all__ = ["great_expectations", "kinds", "open_views", "run", "views"]
