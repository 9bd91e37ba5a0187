"""The clinician review queue: a Django project of its own that nothing but the CLI starts."""
