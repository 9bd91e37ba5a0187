"""Build stages, from the scan of a raw copy to checks across sources."""

__all__ = [
    "composing",
    "contradictions",
    "deduplicate",
    "gate",
    "geometry_table",
    "ontology_editions",
    "plan",
    "raw_files",
    "reasons",
    "sample_codes",
    "samples",
    "scan",
    "shard_result",
    "shared_images",
    "source_result",
]
