"""Rule of the task Box Grounding; see ``build/open_items/located.py``."""

from medrcube.build.open_items.located import BoxRule

rule = BoxRule()
