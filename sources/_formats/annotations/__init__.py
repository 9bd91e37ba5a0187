"""Readers' marks in the formats of annotation tools and datasets."""

__all__ = ["coco", "lidc_xml", "osirix_plist", "osirix_slices", "run_length"]
