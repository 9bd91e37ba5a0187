"""Header of a DICOM file in one pass, with the position of its pixel data.

pydicom reads one element after the other from the file, which takes half a millisecond for a slice
of CT, and as long again to find the pixels. Here the first bytes are read once, elements that are
not wanted are skipped, and the others are converted by pydicom, so that their meaning is the same.
A file that is unusual in any way is left to pydicom.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Any, BinaryIO, cast

from pydicom.charset import convert_encodings, default_encoding
from pydicom.datadict import dictionary_has_tag, dictionary_VR, tag_for_keyword
from pydicom.dataelem import (
    DataElement,
    RawDataElement,
    convert_raw_data_element,
    empty_value_for_VR,
)
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.tag import BaseTag
from pydicom.uid import (
    UID,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ImplicitVRLittleEndian,
)
from pydicom.valuerep import EXPLICIT_VR_LENGTH_32, VR

__all__ = ["ScannedHeader", "scan_header"]

_HEAD = 1 << 16
"""Bytes read as header; that of a CT or MR slice has 2,000 to 20,000."""
_PREAMBLE = 128
_META_START = _PREAMBLE + 4
_PIXEL_DATA = (0x7FE00008, 0x7FE00009, 0x7FE00010)
_ITEM, _ITEM_END, _SEQUENCE_END = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD
_DELIMITERS = frozenset((_ITEM, _ITEM_END, _SEQUENCE_END))
_ITEM_END_HALVES = (_ITEM_END >> 16, _ITEM_END & 0xFFFF)
_UNDEFINED = 0xFFFFFFFF
_FIRST_GROUP = 0x00020000
"""First tag of a file; group 0 holds network commands."""
_CHARACTER_SET = 0x00080005
_SYNTAX = 0x00020010
_OTHER_ENCODINGS = (ExplicitVRBigEndian, DeflatedExplicitVRLittleEndian)
_TAG = struct.Struct("<HH")
_VR_LENGTH = struct.Struct("<2sH")
_LENGTH = struct.Struct("<I")
_ITEM_HEAD = struct.Struct("<HHI")
_LONG = {vr.value.encode(): vr.value for vr in VR if vr in EXPLICIT_VR_LENGTH_32}
_SHORT = {vr.value.encode(): vr.value for vr in VR if vr not in EXPLICIT_VR_LENGTH_32}
_META_GROUP = 2
_PLAIN = frozenset(("CS", "DS", "FD", "FL", "IS", "SL", "SS", "UI", "UL", "US"))
"""VRs whose values depend neither on a character set nor on another element."""
_SHORT_VALUE = 128
_Elements = dict[BaseTag, RawDataElement | DataElement]
_ElementReader = Callable[[bytes, int], tuple[str | None, int, int]]
_DEEPEST = 8
"""Most nested sequences that are skipped."""


class ScannedHeader(Dataset):
    """A header, and the file offset at which the element of the pixel data begins."""

    pixels_at = 0

    def convert(self, tags: AbstractSet[int]) -> None:
        """Convert the wanted elements that are still raw.

        Raises:
            Exception: of nearly any type, for a damaged element.
        """
        raw = [tag for tag, element in self._dict.items() if isinstance(element, RawDataElement)]
        for tag in raw:
            if tag in tags:
                self[tag]

    def get(self, key: Any, default: Any = None) -> Any:
        """Return an element's value by keyword, three times as fast as pydicom; used per slice."""
        tag = _tag_of(key) if isinstance(key, str) else None
        if tag is None:
            return super().get(key, default)
        element = self._dict.get(tag)
        if element is None:
            return default
        return self[tag].value if isinstance(element, RawDataElement) else element.value


@cache
def _tag_of(keyword: str) -> BaseTag | None:
    number = tag_for_keyword(keyword)
    return None if number is None else _key_of(number)


@cache
def _key_of(tag: int) -> BaseTag:
    """Return one object for each wanted tag: a dict finds it without pydicom's slow comparison."""
    return BaseTag(tag)


class _UnusualError(Exception):
    """The file must be read by pydicom."""


def scan_header(file: BinaryIO, tags: AbstractSet[int]) -> ScannedHeader | None:
    """Return the wanted elements before the pixel data; ``None`` if pydicom has to read the file.

    Args:
        file: at its start; left at the pixel data element, or at its start again.
        tags: tags.
    """
    head = file.read(_HEAD)
    try:
        header = _scanned(head, tags | {_CHARACTER_SET})
    except (_UnusualError, struct.error):
        file.seek(0)
        return None
    file.seek(header.pixels_at)
    return header


def _scanned(head: bytes, tags: AbstractSet[int]) -> ScannedHeader:
    if head[_PREAMBLE:_META_START] != b"DICM":
        raise _UnusualError
    meta, place = _elements(head, _META_START, _explicit, {_SYNTAX}, _is_behind_meta)
    if _SYNTAX not in meta:
        raise _UnusualError
    uid, usual = _syntax_of(str(meta[_key_of(_SYNTAX)].value))
    if not usual:
        raise _UnusualError
    implicit = uid == ImplicitVRLittleEndian
    if implicit and head[place + 4 : place + 6].isupper():
        raise _UnusualError  # the VR is missing
    read_element = _implicit if implicit else _explicit
    elements, place = _elements(head, place, read_element, tags, _PIXEL_DATA.__contains__)
    header = ScannedHeader(elements)
    header.file_meta = _meta_of(uid)
    header.set_original_encoding(
        is_implicit_vr=implicit, is_little_endian=True, character_encoding=_encoding(elements)
    )
    header.pixels_at = place
    return header


@lru_cache(maxsize=64)
def _syntax_of(text: str) -> tuple[UID, bool]:
    """Return a transfer syntax, and whether files in it are scanned here."""
    uid = UID(text)
    return uid, not (uid in _OTHER_ENCODINGS or uid.is_private or not uid.is_transfer_syntax)


def _encoding(elements: _Elements) -> list[str] | str:
    """Return the character sets of the text elements as Python encodings."""
    if _key_of(_CHARACTER_SET) not in elements:
        return default_encoding
    try:
        return list(convert_encodings(Dataset(dict(elements))[_CHARACTER_SET].value))
    except (LookupError, ValueError) as error:
        raise _UnusualError from error


def _is_behind_meta(tag: int) -> bool:
    return tag >> 16 != _META_GROUP


def _elements(
    data: bytes,
    place: int,
    read_element: _ElementReader,
    tags: AbstractSet[int],
    is_behind: Callable[[int], bool],
) -> tuple[_Elements, int]:
    """Return the wanted elements, and the offset of the first one after them."""
    elements: _Elements = {}
    unpack_tag = _TAG.unpack_from
    while True:
        group, number = unpack_tag(data, place)
        tag = group << 16 | number
        if is_behind(tag):
            return elements, place
        vr, length, start = read_element(data, place)
        if tag < _FIRST_GROUP or tag in _DELIMITERS:
            raise _UnusualError
        if length == _UNDEFINED:
            if tag in tags or (vr or _vr_of(tag)) != "SQ":
                raise _UnusualError
            place = _behind_sequence(data, start, read_element, _DEEPEST)
            continue
        place = start + length
        if place > len(data):
            raise _UnusualError
        if tag in tags:
            plain = length <= _SHORT_VALUE and (vr or _vr_of(tag)) in _PLAIN
            make = _converted if plain else _raw
            elements[_key_of(tag)] = make(tag, vr, data[start:place])


@lru_cache(maxsize=4096)
def _converted(tag: int, vr: str | None, value: bytes) -> DataElement:
    """Return a converted element; most are identical in all files of a series."""
    return convert_raw_data_element(_raw(tag, vr, value))


def _raw(tag: int, vr: str | None, value: bytes) -> RawDataElement:
    empty = cast("bytes | None", empty_value_for_VR(vr, raw=True))
    return RawDataElement(
        _key_of(tag),
        vr,
        len(value),
        value or empty,
        value_tell=0,
        is_implicit_VR=vr is None,
        is_little_endian=True,
    )


@lru_cache(maxsize=64)
def _meta_of(syntax: UID) -> FileMetaDataset:
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = syntax
    return meta


def _explicit(data: bytes, place: int) -> tuple[str | None, int, int]:
    """Return VR and length of an element, and the offset of its value."""
    code, length = _VR_LENGTH.unpack_from(data, place + 4)
    if code in _SHORT:
        return _SHORT[code], length, place + 8
    if code not in _LONG:
        raise _UnusualError
    (length,) = _LENGTH.unpack_from(data, place + 8)
    return _LONG[code], length, place + 12


def _implicit(data: bytes, place: int) -> tuple[str | None, int, int]:
    """Return the same for an element with implicit VR."""
    (length,) = _LENGTH.unpack_from(data, place + 4)
    return None, length, place + 8


def _vr_of(tag: int) -> str:
    """Return the VR of a known tag; empty for others."""
    return dictionary_VR(tag) if dictionary_has_tag(tag) else ""


def _behind_sequence(data: bytes, place: int, read_element: _ElementReader, deepest: int) -> int:
    """Return where a sequence of undefined length ends."""
    if not deepest:
        raise _UnusualError
    while True:
        group, number, length = _ITEM_HEAD.unpack_from(data, place)
        place += 8
        if group << 16 | number == _SEQUENCE_END:
            return place
        if group << 16 | number != _ITEM:
            raise _UnusualError
        if length == _UNDEFINED:
            place = _behind_item(data, place, read_element, deepest)
        else:
            place += length


def _behind_item(data: bytes, place: int, read_element: _ElementReader, deepest: int) -> int:
    """Return where an item of undefined length ends."""
    while (halves := _TAG.unpack_from(data, place)) != _ITEM_END_HALVES:
        tag = halves[0] << 16 | halves[1]
        vr, length, place = read_element(data, place)
        if length != _UNDEFINED:
            place += length
        elif (vr or _vr_of(tag)) == "SQ":
            place = _behind_sequence(data, place, read_element, deepest - 1)
        else:
            raise _UnusualError
    return place + 8
