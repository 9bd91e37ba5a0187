"""Graphics burnt into the pixels: calipers, text, arrows."""
