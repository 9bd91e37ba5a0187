"""DICOM for adapters: headers, patients and slice numbers, never pixels."""

__all__ = ["headers", "patients", "quiet_pydicom", "slice_numbers"]
