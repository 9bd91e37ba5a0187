"""Incremental builds: file snapshots, result cache, changed sources."""
