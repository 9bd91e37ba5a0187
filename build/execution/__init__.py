"""Execution of render jobs: local processes, Dask clusters, lean imports."""

__all__ = ["dask", "lean_imports", "local", "main_guard", "progress"]
