"""Regions of an image: masks, outlines, boxes, and drawing them."""
