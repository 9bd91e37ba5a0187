"""Pieces of a page: escaped text, SVG, colours, images and tables."""
