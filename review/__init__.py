"""The clinician review queue: a Django project that only the command line starts."""
