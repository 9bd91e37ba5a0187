"""Pages of the reference that are generated from code and cards."""
