"""Incremental builds: file snapshots, result cache, changed sources."""

__all__ = [
    "build_context",
    "cache_database",
    "changed_sources",
    "file_states",
    "kept_scan",
    "result_cache",
    "source_state",
    "state_table",
]
