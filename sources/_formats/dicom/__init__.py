"""DICOM for adapters: headers, patients and slice numbers, never pixels."""
