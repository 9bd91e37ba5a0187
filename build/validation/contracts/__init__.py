"""Contracts: rules on every row of the tables of a release, run on views of them."""
