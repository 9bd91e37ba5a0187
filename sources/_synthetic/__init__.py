"""Synthetic phantoms for the fixtures of sources."""

__all__ = [
    "breast",
    "chest_ct",
    "chest_film",
    "chest_person",
    "chest_signs",
    "dicom",
    "echo",
    "head",
    "heart",
    "images",
    "shapes",
    "spreadsheets",
    "ultrasound",
    "whole_chest",
]
