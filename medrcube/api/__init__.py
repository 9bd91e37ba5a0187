"""The public Python interface; ``import medrcube`` exposes its names lazily.

Extras: ``workspace`` needs ``medrcube[build]``, ``release`` and ``run`` need
``medrcube[evaluate]``, ``sources`` needs only pandas.
"""

__all__ = ["release", "run", "sources", "workspace"]
