"""Clinician review queue: a Django project that is started only from the command line."""

__all__ = ["errors", "models", "nearest_name", "settings", "wsgi"]
