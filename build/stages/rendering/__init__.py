"""Rendering of one case in a worker: its images, recipes and region measurements."""

__all__ = ["measure_regions", "recipe", "render", "rendered_picture"]
