"""DICOM: images, series, segmentations and structure sets."""

__all__ = ["image", "opening", "segmentation", "series", "structure_set"]
