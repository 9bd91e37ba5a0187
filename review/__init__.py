"""The clinician review queue: a Django project that only the command line starts."""

__all__ = ["errors", "models", "nearest_name", "settings", "wsgi"]
