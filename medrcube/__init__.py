"""Rebuild, extend and run medical-imaging benchmarks for multimodal models."""

from importlib.metadata import version

__version__ = version("medrcube")
