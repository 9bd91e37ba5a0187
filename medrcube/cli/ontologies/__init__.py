"""The commands of ``medrcube ontologies``, one module each."""
