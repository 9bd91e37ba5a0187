"""Regions of an image: masks, outlines and boxes, and drawing them."""

__all__ = [
    "box_labels",
    "case_regions",
    "draw_marks",
    "draw_shapes",
    "measure",
    "polygon_fill",
    "rasterize",
    "region_mask",
    "run_lengths",
    "side_by_side",
    "sizes",
]
