"""Asking a model every question, as fast as it takes them, and keeping every reply."""
