"""Readers of formats that ITK decodes: MetaImage and NRRD."""

__all__ = ["metaimage", "nrrd"]
