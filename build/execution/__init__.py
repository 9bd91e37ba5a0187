"""Execution of render jobs: local processes, dask clusters, lean imports."""

__all__ = ["dask", "lean_imports", "local", "progress"]
