"""Integer codes for properties that images share: source, case, slice, patient, pixels.

Equal codes mean equal values, so large batches are compared without a record for each image. Codes
are computed from columns, never from joined texts, and once for each table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.samples import Sample

__all__ = ["Codes", "SampleCodes", "codes_of", "in_several", "paired"]

Codes = NDArray[np.signedinteger[Any]]

_BLOCK = 8_192
"""Images whose texts are in memory at a time."""


class SampleCodes:
    """Codes of the images of a table, in table order."""

    def __init__(self, samples: RecordTable[Sample]) -> None:
        self._columns = samples.columns

    @cached_property
    def sources(self) -> Codes:
        """Codes by source."""
        return self._codes(self._columns["source"])

    @cached_property
    def cases(self) -> Codes:
        """Codes by source and case."""
        return _dense(paired(self.sources, self._codes(self._columns["case"])))

    @cached_property
    def slices(self) -> Codes:
        """Codes by source, case and slice; marked and clean images of one slice share a code."""
        return _dense(paired(self.cases, self._codes(self._columns["frames"])))

    @cached_property
    def patients(self) -> Codes:
        """Codes by source and patient; a case without a patient counts as its own."""
        if self.names_patient.all():
            return self.named_patients
        patient = self._columns["patient"]
        own = pc.if_else(pc.equal(patient, ""), self._columns["case"], patient)
        return _dense(paired(self.sources, self._codes(own)))

    @cached_property
    def named_patients(self) -> Codes:
        """Codes by source and patient, valid only where ``names_patient`` is true."""
        return _dense(paired(self.sources, self._codes(self._columns["patient"])))

    @cached_property
    def names_patient(self) -> NDArray[np.bool_]:
        """Mask of the images whose source names the patient."""
        return np.asarray(pc.not_equal(self._columns["patient"], ""))

    @cached_property
    def pixels(self) -> Codes:
        """Codes by pixel hash."""
        return self._codes(self._columns["pixel_sha256"])

    def is_one_of(self, column: str, values: Collection[str]) -> NDArray[np.bool_]:
        """Mask of the images whose value in a column is one of ``values``."""
        value_set = pa.array(sorted(values), pa.string())
        parts = [_is_in(chunk, value_set) for chunk in self._columns[column].chunks]
        return np.concatenate([np.empty(0, np.bool_), *parts])

    def texts(self, columns: Collection[str], between: str) -> Iterator[list[str]]:
        """Yield the values of some columns, joined, for one block of images after another."""
        for block in self._columns.tables(_BLOCK, list(columns)):
            texts = (column.cast(pa.string()) for column in block.itercolumns())
            yield pc.binary_join_element_wise(*texts, between).to_pylist()

    @staticmethod
    def _codes(values: pa.ChunkedArray) -> Codes:
        if pa.types.is_dictionary(values.type):
            parts = values.unify_dictionaries().chunks
        else:
            parts = values.dictionary_encode().chunks
        return np.concatenate([np.empty(0, np.int32), *(part.indices for part in parts)])


_CODES_OF: WeakKeyDictionary[RecordTable[Sample], SampleCodes] = WeakKeyDictionary()


def codes_of(samples: RecordTable[Sample]) -> SampleCodes:
    """Return the codes of a table, which are kept as long as the table is."""
    return _CODES_OF.setdefault(samples, SampleCodes(samples))


def paired(codes: Codes, other: Codes) -> Codes:
    """Encode pairs of codes as one number each."""
    pairs = codes * np.int64(int(other.max(initial=0)) + 1)
    pairs += other
    return pairs


def in_several(codes: Codes, parts: Codes) -> NDArray[np.bool_]:
    """Mask of the codes that occur in several parts."""
    codes = _dense(codes)
    once = np.unique(paired(codes, parts)) // (int(parts.max(initial=0)) + 1)
    return np.asarray(np.bincount(once, minlength=1)[codes] > 1)


def _dense(codes: Codes) -> Codes:
    """Renumber codes without gaps."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int32)


def _is_in(values: pa.Array, value_set: pa.Array) -> NDArray[np.bool_]:
    encoded = pa.types.is_dictionary(values.type)
    texts = values.dictionary if encoded else values
    mask: NDArray[np.bool_] = np.asarray(pc.is_in(texts, value_set), np.bool_)
    if encoded:
        mask = mask[np.asarray(values.indices)]
    return mask
