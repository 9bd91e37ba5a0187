"""Concepts, how they relate, and when a wrong option is really wrong."""
