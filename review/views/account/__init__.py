"""Views of one's own account."""
