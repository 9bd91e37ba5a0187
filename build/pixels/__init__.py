"""Stored values to display pixels: geometry, windowing, slice selection, PNG."""
