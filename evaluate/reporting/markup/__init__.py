"""HTML building blocks: escaped text, SVG, colours, images and tables."""
