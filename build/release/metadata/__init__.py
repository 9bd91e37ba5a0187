"""Metadata files of a release: card, licences, citations, Croissant, PROV."""

__all__ = ["licences", "metadata_files", "release_facts"]
