"""Phantoms for the fixtures of sources."""
