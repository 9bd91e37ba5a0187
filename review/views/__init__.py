"""Views of the review queue."""
