"""Execution of render jobs: local processes, dask clusters, lean imports."""
