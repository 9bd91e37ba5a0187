"""The public Python interface; ``import medrcube`` gives its names when they are first used.

Each module needs one extra: ``workspace`` needs ``medrcube[build]``, ``release`` and ``run`` need
``medrcube[evaluate]``, and ``sources`` needs pandas alone.
"""

__all__ = ["release", "run", "sources", "workspace"]
