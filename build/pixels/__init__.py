"""From stored values to the pixels that a reader sees: geometry, grey values, regions, marks."""
