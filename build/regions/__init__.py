"""Regions of an image: masks, outlines and boxes, and how they are drawn."""
