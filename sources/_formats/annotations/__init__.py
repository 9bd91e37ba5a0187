"""Marks of readers in the formats of annotation tools and datasets."""
