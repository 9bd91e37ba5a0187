"""DICOM: images, series, segmentations and structure sets."""
