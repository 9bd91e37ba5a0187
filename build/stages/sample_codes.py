"""Integer codes for properties that images share: source, case, slice, patient, pixels.

Equal codes mean equal values, so large batches are compared without a record for each image.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.samples import Sample

__all__ = ["Codes", "SampleCodes"]

Codes = NDArray[np.int64]

_APART = "\x1f"
"""Separator between the parts of a value."""


class SampleCodes:
    """Codes of the images of a table, in table order."""

    def __init__(self, samples: RecordTable[Sample]) -> None:
        self._columns = samples.columns

    @cached_property
    def sources(self) -> Codes:
        """Codes by source."""
        return self._codes(self._text("source"))

    @cached_property
    def cases(self) -> Codes:
        """Codes by source and case."""
        return self._codes(self._joined("source", "case"))

    @cached_property
    def slices(self) -> Codes:
        """Codes by source, case and slice; marked and clean images of one slice share a code."""
        return self._codes(self._joined("source", "case", "frames"))

    @cached_property
    def patients(self) -> Codes:
        """Codes by source and patient; a case without a patient counts as its own."""
        patient = self._text("patient")
        own = pc.if_else(pc.equal(patient, ""), self._text("case"), patient)
        return self._codes(pc.binary_join_element_wise(self._text("source"), own, _APART))

    @cached_property
    def named_patients(self) -> Codes:
        """Codes by source and patient, valid only where ``names_patient`` is true."""
        return self._codes(self._joined("source", "patient"))

    @cached_property
    def names_patient(self) -> NDArray[np.bool_]:
        """Mask of the images whose source names the patient."""
        return np.asarray(pc.not_equal(self._text("patient"), ""))

    @cached_property
    def pixels(self) -> Codes:
        """Codes by pixel hash."""
        return self._codes(self._text("pixel_sha256"))

    def is_one_of(self, column: str, values: Collection[str]) -> NDArray[np.bool_]:
        """Mask of the images whose value in a column is one of ``values``."""
        return np.asarray(pc.is_in(self._text(column), pa.array(sorted(values), pa.string())))

    def texts(self, columns: Collection[str], between: str) -> list[str]:
        """Values of some columns, joined, for every image."""
        texts = (self._text(name) for name in columns)
        return list(pc.binary_join_element_wise(*texts, between).to_pylist())

    def _text(self, name: str) -> pa.ChunkedArray:
        return self._columns[name].cast(pa.string())

    def _joined(self, *names: str) -> pa.ChunkedArray:
        return pc.binary_join_element_wise(*map(self._text, names), _APART)

    def _codes(self, values: pa.ChunkedArray) -> Codes:
        if not len(values):
            return np.empty(0, np.int64)
        return np.asarray(values.combine_chunks().dictionary_encode().indices, np.int64)
