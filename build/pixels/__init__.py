"""Rendering of stored values to display pixels: geometry, windowing, slice selection, PNG."""

__all__ = [
    "body_midline",
    "case_image",
    "extent",
    "geometry",
    "mirror",
    "panels",
    "pixel_hash",
    "png_encoder",
    "scale_bar",
    "slice_selection",
    "volume",
]
