"""Build stages, from the scan of a raw copy to checks across sources."""

__all__ = [
    "composing",
    "contradictions",
    "deduplicate",
    "gate",
    "geometry_table",
    "measure_regions",
    "ontology_editions",
    "plan",
    "raw_files",
    "render",
    "sample_codes",
    "samples",
    "scan",
    "shard_result",
    "shared_images",
    "source_check",
    "source_result",
    "vocabulary_check",
]
