"""Pages of the review queue."""
