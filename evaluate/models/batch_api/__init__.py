"""Batch APIs of providers, behind one protocol."""

__all__ = ["http", "protocol", "registry", "result_lines"]
