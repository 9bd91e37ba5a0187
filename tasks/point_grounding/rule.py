"""Rule of the task Point Grounding; see ``build/open_items/located.py``."""

from medrcube.build.open_items.located import PointRule

rule = PointRule()
