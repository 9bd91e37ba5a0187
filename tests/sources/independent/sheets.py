"""Old Excel workbooks, byte by byte: BIFF8 records in an OLE2 container."""

import struct

_SECTOR, _END, _FAT = 512, 0xFFFFFFFE, 0xFFFFFFFD


def write_xls(path, sheets):
    """Write ``{name: rows}``; cells are numbers, texts or None."""
    bodies = [_body(rows) for rows in sheets.values()]
    head = _bof(5) + b"".join(_bound(name, 0) for name in sheets) + _record(0x0A)
    offset, bounds = len(head), b""
    for name, body in zip(sheets, bodies, strict=True):
        bounds += _bound(name, offset)
        offset += len(body)
    stream = _bof(5) + bounds + _record(0x0A) + b"".join(bodies)
    stream = stream.ljust(max(4096, -(-len(stream) // _SECTOR) * _SECTOR), b"\0")
    count = len(stream) // _SECTOR
    fat = [_FAT, _END, *range(3, count + 2), _END]
    assert len(fat) <= _SECTOR // 4
    fat += [0xFFFFFFFF] * (_SECTOR // 4 - len(fat))
    root = _entry("Root Entry", 5, 1, _END, 0)
    book = _entry("Workbook", 2, 0xFFFFFFFF, 2, len(stream))
    directory = (root + book).ljust(_SECTOR, b"\0")
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        0x3E,
        3,
        0xFFFE,
        9,
        6,
        0,
        1,
        1,
        0,
        4096,
        _END,
        0,
        _END,
        0,
    )
    header += struct.pack("<109I", 0, *[0xFFFFFFFF] * 108)
    path.write_bytes(header + struct.pack("<128I", *fat) + directory + stream)


def _record(kind, data=b""):
    return struct.pack("<HH", kind, len(data)) + data


def _bof(kind):
    return _record(0x809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 1996, 0, 6))


def _bound(name, offset):
    text = name.encode("ascii")
    return _record(0x85, struct.pack("<IBBBB", offset, 0, 0, len(text), 0) + text)


def _body(rows):
    cells = b""
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            if isinstance(value, str):
                text = value.encode("latin-1")
                data = struct.pack("<HHHHB", y, x, 0, len(text), 0) + text
                cells += _record(0x204, data)
            elif value is not None:
                cells += _record(0x203, struct.pack("<HHHd", y, x, 0, value))
    size = struct.pack("<IIHHH", 0, len(rows), 0, max(map(len, rows)), 0)
    return _bof(0x10) + _record(0x200, size) + cells + _record(0x0A)


def _entry(name, kind, child, start, size):
    text = (name + "\0").encode("utf-16-le")
    free = 0xFFFFFFFF
    return struct.pack(
        "<64sHBBIII36xIII",
        text.ljust(64, b"\0"),
        len(text),
        kind,
        1,
        free,
        free,
        child,
        start,
        size,
        0,
    )
