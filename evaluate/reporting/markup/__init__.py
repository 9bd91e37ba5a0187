"""HTML building blocks: escaped text, SVG, colours, images and tables."""

__all__ = ["colour_scales", "embedded_images", "escaping", "responsive_tables", "svg"]
