"""Editions of a release: public and private, and their Parquet files for a hub."""
