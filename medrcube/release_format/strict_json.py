"""Strict JSON parser for untrusted files, with bounded memory.

Stricter than ``json``: no ``NaN`` or infinity, no duplicate object keys, UTF-8 only. Lists are read
one element at a time and an element is at most a mebibyte, so ten million brackets or half a
gigabyte of empty lists use no more memory than a valid table.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

__all__ = ["BadJsonError", "each_line", "read_document", "read_lines", "read_list"]

LONGEST_ROW = 2**20
"""Maximum length of a list element in characters."""

LONGEST_LINE = 2**24
"""Maximum length of a JSON Lines line in bytes: a series lists each of its files."""

MOST_PARTS = 2_000_000
"""Maximum number of values in a document that is read as a whole."""

_CHUNK = 2**16
_NEAR = 16
"""Number of characters at the end of the buffer where a value or error may be truncated."""
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA_BEFORE_OBJECT = re.compile(r"[ \t\r\n]*,[ \t\r\n]*(?=\{)")


class BadJsonError(ValueError):
    """A file is not the expected JSON; the message says where and why."""


def read_list(file: BinaryIO) -> Iterator[Any]:
    """Yield the elements of a JSON list one at a time.

    Raises:
        BadJsonError: the file is not a valid UTF-8 JSON list with elements of acceptable size.
    """
    window = _Window(file)
    first = window.next_character()
    if first != "[":
        kind = {"{": "an object", "": "nothing", '"': "a text"}.get(first, "no list")
        raise BadJsonError(f"holds {kind}; expected a list of items")
    window.at += 1
    number = 0
    if window.next_character() == "]":
        window.at += 1
    else:
        while True:
            rows = window.plain_objects() or [window.element(number)]
            yield from rows
            number += len(rows)
            if window.at_next_object():
                continue
            mark = window.next_character()
            window.at += 1
            if mark == "]":
                break
            if mark != ",":
                follows = "the file ends" if not mark else f"{mark!r} stands"
                raise BadJsonError(f"after item {number - 1} {follows}; expected ',' or ']'")
            window.next_character()
    if window.next_character():
        raise BadJsonError("text follows the list; expected the end of the file")


def read_lines(file: BinaryIO) -> Iterator[Any]:
    """Yield the values of a JSON Lines file one at a time, skipping empty lines.

    Raises:
        BadJsonError: a line is not valid JSON in UTF-8, or exceeds the size limit.
    """
    for number, value in each_line(file):
        if isinstance(value, BadJsonError):
            raise BadJsonError(f"line {number}: {value}") from None
        yield value


def each_line(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """Yield line number and value of every non-empty line; a bad line yields its error as value."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            yield number, BadJsonError(f"has more than {LONGEST_LINE:,} bytes")
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
        elif line.strip():
            try:
                value = read_document(line)
            except BadJsonError as error:
                value = error
            yield number, value


def read_document(data: bytes) -> Any:
    """Parse a whole JSON document.

    Raises:
        BadJsonError: it is not valid JSON in UTF-8, is nested too deeply or contains too many
            values.
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MOST_PARTS:
        raise BadJsonError(f"holds more than {MOST_PARTS:,} values")
    try:
        text = data.decode("utf-8-sig")
        value, end = _DECODER.raw_decode(text, _space(text, 0))
    except RecursionError:
        raise BadJsonError("is nested too deep") from None
    except UnicodeDecodeError as error:
        raise BadJsonError(_not_utf8(error)) from None
    except json.JSONDecodeError as error:
        raise BadJsonError(f"is not valid JSON: {error.msg} at character {error.pos}") from None
    except ValueError as error:
        raise BadJsonError(str(error)) from None
    if _space(text, end) < len(text):
        raise BadJsonError(f"text follows the value, at character {end}")
    return value


class _Window:
    """Sliding buffer over the text of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self.at = 0
        self._text = ""
        self._is_tried = False
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def next_character(self) -> str:
        """Return the next non-whitespace character, without consuming it; empty at the end."""
        while True:
            self.at = _space(self._text, self.at)
            if self.at < len(self._text):
                return self._text[self.at]
            if not self._more():
                return ""

    def at_next_object(self) -> bool:
        """Skip a comma if an object follows it within the buffer; otherwise nothing is consumed."""
        comma = _COMMA_BEFORE_OBJECT.match(self._text, self.at)
        if comma is None:
            return False
        self.at = comma.end()
        return True

    def plain_objects(self) -> list[dict[str, Any]]:
        """Parse the objects that the buffer holds whole, if their only colons follow their keys.

        Every key is followed by a colon, so objects with as many colons as keys have no other
        object in them and no key twice. Tried once for each buffer.

        Returns:
            The objects; empty, with nothing consumed, if any is not so.
        """
        end = self._text.rfind("}", self.at) + 1
        if self._is_tried or end <= self.at:
            return []
        self._is_tried = True
        try:
            values: list[dict[str, Any]] = _UNCHECKED_KEYS.decode(f"[{self._text[self.at : end]}]")
        except (ValueError, RecursionError):
            return []
        if not all(type(value) is dict for value in values):
            return []
        if self._text.count(":", self.at, end) != sum(map(len, values)):
            return []
        self.at = end
        return values

    def element(self, number: int) -> Any:
        """Parse the value that begins at the current position."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self.at)
            except RecursionError:
                raise BadJsonError(f"item {number} is nested too deep") from None
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _NEAR
                buffered = len(self._text) - self.at
                if cut and buffered > LONGEST_ROW:
                    raise BadJsonError(
                        f"item {number} has more than {LONGEST_ROW:,} characters"
                    ) from None
                if not (cut and self._more()):
                    raise BadJsonError(f"item {number} is not valid JSON: {error.msg}") from None
            except ValueError as error:
                raise BadJsonError(f"item {number}: {error}") from None
            else:
                # A number near the end of the buffer may continue, such as 12 in "12.".
                if end < len(self._text) - _NEAR or not self._more():
                    self.at = end
                    return value

    def _more(self) -> bool:
        rest = self._text[self.at :]
        # Read as much again: an element that spans many chunks is not reparsed for each chunk.
        data = self._file.read(max(_CHUNK, len(rest)))
        try:
            decoded = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise BadJsonError(_not_utf8(error)) from None
        if data:  # at the end of the file, positions are unchanged
            self._text, self.at, self._is_tried = rest + decoded, 0, False
        return bool(data)


def _space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON; expected a number")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"is not UTF-8: {error.reason}"


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
)
_UNCHECKED_KEYS = json.JSONDecoder(parse_constant=_constant, parse_float=_number)
