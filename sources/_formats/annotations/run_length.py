"""Run-length codes of datasets, decoded to absolute starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from medrcube.errors import SourceError
from medrcube.sources._formats.tables.redaction import cell_shape

__all__ = ["coco_runs", "connected_pieces", "merge_runs", "relative_runs"]


def relative_runs(text: str) -> tuple[tuple[int, int], ...]:
    """Decode a run-length code in which each start is relative to the end of the previous run.

    ``5 2 3 4`` marks pixels 5 and 6, then 10 to 13. Interpreted as absolute starts, the same text
    silently yields other pixels. The SIIM-ACR pneumothorax tables use this code, with starts from 0
    and in column-major order.

    Args:
        text: pairs of gap and length, separated by blanks.

    Returns:
        ``(first, length)`` of each run, ``first`` counted from 0 along the flat image.

    Raises:
        SourceError: the text holds anything but pairs of a gap from 0 and a length from 1.
    """
    words = text.split()
    if not words or len(words) % 2 or not all(word.isdecimal() for word in words):
        raise SourceError(
            f"run-length code {cell_shape(text)}: expected pairs of whole numbers, gap and length"
        )
    runs: list[tuple[int, int]] = []
    end = 0
    for gap, length in zip(words[::2], words[1::2], strict=True):
        if int(length) == 0:
            raise SourceError(f"run-length code {cell_shape(text)}: a run has no pixel")
        first = end + int(gap)
        end = first + int(length)
        runs.append((first, int(length)))
    return tuple(runs)


def coco_runs(text: str, size: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Decode a compressed COCO run-length code, in column-major order.

    The code lists the lengths of runs of 0 and 1 in turn, 0 first, from the third on as the
    difference to the run before last; each number is cut into groups of five bits, lowest first,
    and written as characters from ``0`` on (``common/maskApi.c`` of cocodataset/cocoapi).

    Args:
        text: the code.
        size: ``(rows, columns)`` of the image that was coded.

    Returns:
        ``(first, length)`` of each run of 1, ``first`` counted from 0 along the flat image.

    Raises:
        SourceError: the code is damaged or does not cover the image exactly.
    """
    lengths: list[int] = []
    number, shift = 0, 0
    for character in text:
        group = ord(character) - 48
        if not 0 <= group < 64:
            raise SourceError(
                f"run-length code {cell_shape(text)}: {character!r} is not part of a code"
            )
        number |= (group & 31) << shift
        shift += 5
        if group & 32:
            continue
        if group & 16:
            number -= 1 << shift
        lengths.append(number + (lengths[-2] if len(lengths) > 2 else 0))
        number, shift = 0, 0
    if shift or any(length < 0 for length in lengths) or sum(lengths) != size[0] * size[1]:
        raise SourceError(
            f"run-length code {cell_shape(text)}: covers {sum(lengths)} pixels, expected "
            f"{size[0]} x {size[1]}; is it the code of another image?"
        )
    firsts = accumulate(lengths, initial=0)
    runs = list(zip(firsts, lengths, strict=False))[1::2]
    return tuple((first, length) for first, length in runs if length)


def merge_runs(codes: Iterable[Sequence[tuple[int, int]]]) -> tuple[tuple[int, int], ...]:
    """Return the union of several codes of one image, as ordered runs."""
    merged: list[tuple[int, int]] = []
    for first, length in sorted(run for code in codes for run in code):
        if merged and first <= sum(merged[-1]):
            start, size = merged[-1]
            merged[-1] = (start, max(size, first + length - start))
        else:
            merged.append((first, length))
    return tuple(merged)


def connected_pieces(
    runs: Sequence[tuple[int, int]], rows: int
) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Split column-major runs into connected components (8-connectivity).

    Args:
        runs: runs as returned by ``coco_runs``.
        rows: height of the image.

    Returns:
        The components in order of their first pixel, each as runs within single columns.
    """
    segments = list(_by_column(runs, rows))
    columns: dict[int, list[int]] = {}
    for number, (first, _) in enumerate(segments):
        columns.setdefault(first // rows, []).append(number)
    lead = list(range(len(segments)))
    for column, numbers in columns.items():
        for number in numbers:
            first, length = segments[number]
            for other in columns.get(column - 1, ()):
                before, size = segments[other][0] + rows, segments[other][1]
                if before <= first + length and first <= before + size:
                    lead[_leader(lead, number)] = _leader(lead, other)
    pieces: dict[int, list[tuple[int, int]]] = {}
    for number, segment in enumerate(segments):
        pieces.setdefault(_leader(lead, number), []).append(segment)
    return tuple(tuple(piece) for piece in pieces.values())


def _by_column(runs: Sequence[tuple[int, int]], rows: int) -> Iterator[tuple[int, int]]:
    for first, length in runs:
        start, end = first, first + length
        while start < end:
            stop = min(end, (start // rows + 1) * rows)
            yield start, stop - start
            start = stop


def _leader(lead: list[int], number: int) -> int:
    while lead[number] != number:
        lead[number] = lead[lead[number]]
        number = lead[number]
    return number
