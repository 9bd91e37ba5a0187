"""Every reader against every fault: a reason in the quarantine, never a crash, hang or rest.

Cases are rendered as a build renders them, in a worker whose memory is limited and whose time
is measured.
"""

from __future__ import annotations

import gzip
import io
import multiprocessing
import os
import re
import resource
import shutil
import struct
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import SimpleITK
from dicom_stacks import Stack, write_rtstruct, write_seg, write_stack
from PIL import Image
from pydicom import dcmread
from pydicom.config import disable_value_validation
from pydicom.encaps import encapsulate
from pydicom.pixels import get_encoder
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLSLossless,
    RLELossless,
)

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.stages.plan import Artefact, RenderJob
from medrcube.build.stages.rendering.render import render_job
from medrcube.errors import WorkspaceError
from medrcube.facts import Case, ImageRef, MaskFile, PixelLayout, Region
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.sources._synthetic import images as phantoms
from medrcube.sources._synthetic.images import CANARY

MEMORY = 1536 << 20
SECONDS = 180
FLIPS = 12
STACK = Stack(name="a", count=5, spacing=(3.0, 1.0, 1.5), origin=(-20.0, 35.0, -60.0))
BODY = np.stack([phantoms.picture(40, 56, seed=k, maximum=4095) for k in range(5)])
LESION = np.stack([phantoms.lesion(40, 56, seed=k) for k in range(5)])
BYTES = (BODY[0] >> 4).astype(np.uint8)
LAYOUT = PixelLayout(rows=40, columns=56, dtype=">u2", bits=12)


def _picture(suffix):
    def write(folder):
        colour = np.stack([BYTES, BYTES // 2, BYTES], axis=-1)
        phantoms.write_picture(folder / f"victim.{suffix}", colour)
        return {}

    return write


def _clip(name, codec):
    def write(folder):
        phantoms.write_clip(
            folder / name, [(page >> 4).astype(np.uint8) for page in BODY], codec=codec
        )
        return {}

    return write


def _dicom(syntax=None):
    def write(folder):
        path = folder / "victim.dcm"
        phantoms.write_dicom(path, BYTES if syntax == JPEGBaseline8Bit else BODY[0])
        data = dcmread(path)
        if syntax == JPEGBaseline8Bit:
            buffer = io.BytesIO()
            Image.fromarray(BYTES).save(buffer, "JPEG")
            data.PixelData = encapsulate([buffer.getvalue()])
            data["PixelData"].is_undefined_length = True
            data.file_meta.TransferSyntaxUID = syntax
        elif syntax == DeflatedExplicitVRLittleEndian:
            data.file_meta.TransferSyntaxUID = syntax
        elif syntax is not None:
            data.compress(syntax)
        data.save_as(path)
        return {}

    return write


def _frames(folder):
    phantoms.write_dicom(folder / "victim.dcm", BODY)
    return {}


def _series(folder):
    paths = write_stack(folder / "s", BODY, STACK)
    paths[2].rename(folder / "victim.dcm")
    return {"images": ["s/*", "victim.dcm"]}


def _nifti(name):
    def write(folder):
        phantoms.write_nifti(folder / name, BODY, spacing=(1.0, 1.5, 3.0))
        return {}

    return write


def _mhd(victim):
    def write(folder):
        phantoms.write_metaimage(folder / "victim.mhd", BODY, spacing=(1.0, 1.5, 3.0))
        return {"images": ["victim.mhd"], "parts": ["victim.raw"], "victim": victim}

    return write


def _mha(folder):
    image = SimpleITK.GetImageFromArray(BODY)
    SimpleITK.WriteImage(image, str(folder / "victim.mha"), useCompression=True)
    return {}


def _matlab(folder):
    with h5py.File(folder / "victim.mat", "w", userblock_size=512) as file:
        file.create_dataset("image", data=BODY[0], compression="gzip")
    banner = b"MATLAB 7.3 MAT-file, Platform: GLNXA64 " + CANARY.encode()
    _patch(folder / "victim.mat", 0, banner)
    return {"member": "image"}


def _raw(folder):
    (folder / "victim.raw").write_bytes(BODY[0].astype(">u2").tobytes())
    return {"raw": LAYOUT}


def _seg(folder):
    write_stack(folder / "s", BODY, STACK)
    write_seg(folder / "victim.dcm", {"Lesion": LESION}, STACK)
    return {"images": ["s/*"], "mask": MaskFile(paths=(Path("victim.dcm"),), values=(1,))}


def _rtstruct(folder):
    write_stack(folder / "s", BODY, STACK)
    loop = [(8.0, 8.0), (30.0, 8.0), (30.0, 28.0), (8.0, 28.0)]
    write_rtstruct(folder / "victim.dcm", {"Lesion": {k: [loop] for k in range(1, 4)}}, STACK)
    return {"images": ["s/*"], "mask": MaskFile(paths=(Path("victim.dcm"),), member="Lesion")}


def _mask(folder):
    phantoms.write_picture(folder / "image.png", BYTES)
    phantoms.write_picture(folder / "victim.png", LESION[0].astype(np.uint8) * 255)
    return {"images": ["image.png"], "mask": MaskFile(paths=(Path("victim.png"),))}


SOUND = {
    **{suffix: _picture(suffix) for suffix in ("png", "jpg", "gif", "bmp")},
    "mask": _mask,
    "dicom": _dicom(),
    "dicom-deflated": _dicom(DeflatedExplicitVRLittleEndian),
    "dicom-jpeg": _dicom(JPEGBaseline8Bit),
    **{
        f"dicom-{syntax.keyword}": _dicom(syntax)
        for syntax in (RLELossless, JPEG2000Lossless, JPEGLSLossless)
        if get_encoder(syntax).is_available
    },
    "dicom-frames": _frames,
    "series": _series,
    "nii": _nifti("victim.nii"),
    "nii.gz": _nifti("victim.nii.gz"),
    "mhd": _mhd("victim.mhd"),
    "mhd-raw": _mhd("victim.raw"),
    "mha": _mha,
    "mat": _matlab,
    "avi": _clip("victim.avi", "mjpeg"),
    "mp4": _clip("victim.mp4", "mpeg4"),
    "gif-film": _clip("victim.gif", ""),
    "raw": _raw,
    "seg": _seg,
    "rtstruct": _rtstruct,
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The sound files of a kind, written once: ``sound(kind)`` gives folder and description."""
    samples = {}

    def get(kind):
        if kind not in samples:
            folder = tmp_path_factory.mktemp("sound")
            samples[kind] = (folder, SOUND[kind](folder))
        return samples[kind]

    return get


class Worker:
    """A process of limited memory that renders; one that crashes or hangs fails the test."""

    def __init__(self, limit=resource.RLIMIT_AS, size=MEMORY):
        self._limits = (limit, (size, size))
        self._pool = None

    def run(self, function, *args):
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=resource.setrlimit,
                initargs=self._limits,
            )
            self._pool.submit(render_job.__module__.__len__).result()  # starts the process
        future = self._pool.submit(function, *args)
        try:
            return future.result(timeout=SECONDS)
        except WorkspaceError:
            raise
        except BaseException:
            self.stop()
            raise

    def stop(self):
        if self._pool is not None:
            for process in list(self._pool._processes.values()):
                process.kill()
            self._pool.shutdown()
            self._pool = None


@pytest.fixture(scope="module")
def worker():
    with pytest.MonkeyPatch.context() as patch:
        # Every thread of a library for linear algebra reserves memory of its own.
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        process = Worker()
        yield process
        process.stop()


@pytest.fixture
def victim(sound, toy, worker, tmp_path):
    """Render a kind of file after some harm; gives the codes of problems, and the pixels."""

    def render(kind, *harms, runner=worker):
        origin, description = sound(kind)
        root, images = tmp_path / "raw", tmp_path / "images"
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(images, ignore_errors=True)
        shutil.copytree(origin, root)
        job = _job(toy.folder, root, **description)
        name = description.get("victim", "victim.*")
        for harm in harms:
            harm(next(root.glob(name)))
        rendered = runner.run(render_job, job, images)
        for problem in rendered.problems:
            assert problem.code not in {"crashed", "worker-died"}, problem.message
            assert CANARY not in problem.message
            assert str(tmp_path) not in problem.message
        _check_whole(rendered, images)
        codes = [problem.code for problem in rendered.problems]
        return codes, [picture.pixel_sha256 for picture in rendered.pictures]

    return render


def _job(
    folder, root, *, images=("victim.*",), parts=(), mask=None, member=None, raw=None, victim=""
):
    paths = tuple(path for glob in images for path in sorted(root.glob(glob)))
    image = ImageRef(
        paths=paths, member=member, raw=raw, parts=tuple(root / name for name in parts)
    )
    regions = ()
    if mask is not None:
        shape = replace(mask, paths=tuple(root / path for path in mask.paths))
        regions = (Region(field="region", value="g", shape=shape, evidence="m"),)
    policy = PixelPolicy(
        window="header",
        slice="middle",
        plane="axial",
        orient="affine",
        spacing="header",
        colour="keep",
    )
    return RenderJob(
        source="toy",
        folder=folder,
        root=root,
        case=Case(key="a", images=(image,), regions=regions),
        concepts=tuple("glioma" for _ in regions),
        policy=policy,
        plane="axial",
        artefacts=(Artefact(kind="clean"),),
        name="a",
    )


def _check_whole(rendered, images):
    files = {path.relative_to(images).as_posix() for path in images.rglob("*") if path.is_file()}
    assert files == {picture.path for picture in rendered.pictures}
    for picture in rendered.pictures:
        pixels = np.asarray(Image.open(images / picture.path))
        assert pixel_hash(pixels) == picture.pixel_sha256


def _patch(path, offset, data):
    content = bytearray(path.read_bytes())
    content[offset : offset + len(data)] = data
    path.write_bytes(content)


def _cut(share):
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def _flip(seed, count=1):
    def harm(path):
        rng = np.random.default_rng(seed)
        content = bytearray(path.read_bytes())
        for _ in range(count):
            # Half of the flips hit the head, where the numbers are that decide about memory.
            end = len(content) if rng.random() < 0.5 else min(len(content), 1200)
            content[rng.integers(end)] ^= 1 << rng.integers(8)
        path.write_bytes(content)

    return harm


def _clear(path):
    path.write_bytes(b"")


def _other_magic(path):
    _patch(path, 0, b"X" * 512)


def _folder(path):
    path.unlink()
    path.mkdir()


def _gone(path):
    path.unlink()


def _locked(path):
    path.chmod(0)


each_kind = pytest.mark.parametrize("kind", SOUND)


@each_kind
def test_sound_files_are_rendered(victim, kind):
    assert not victim(kind)[0]


@pytest.mark.few(24)
@each_kind
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9])
def test_a_truncated_file_is_refused(victim, kind, share):
    codes, pixels = victim(kind, _cut(share))
    # What is cut off may be a checksum only: then all pixels are there.
    assert codes or pixels == victim(kind)[1]


@pytest.mark.few(24)
@each_kind
@pytest.mark.parametrize(
    ("harm", "expected"),
    [
        (_clear, {"truncated", "file-size"}),
        (_other_magic, {"unsupported-format", "unreadable", "truncated", "wrong-layout"}),
        (_folder, {"unreadable"}),
        (_gone, {"missing-file"}),
    ],
    ids=["empty", "magic", "folder", "gone"],
)
def test_a_file_that_is_none_is_refused(victim, kind, harm, expected):
    codes, _ = victim(kind, harm)
    # Pixels without a header have no magic: any bytes are pixels.
    assert set(codes) & expected or (kind, harm) == ("mhd-raw", _other_magic)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_refused(victim):
    for kind in SOUND:
        assert victim(kind, _locked)[0] == ["unreadable"]


@pytest.mark.few(6)
@each_kind
def test_flipped_bits_do_no_harm(victim, kind):
    for seed in range(FLIPS):
        victim(kind, _flip(seed, count=1 + 7 * (seed % 2)))


def _at(offset, layout, *numbers):
    return lambda path: _patch(path, offset, struct.pack(layout, *numbers))


def _after(mark, skip, layout, *numbers):
    """Write numbers at some distance behind the first occurrence of a mark."""

    def harm(path):
        place = path.read_bytes().index(mark)
        _patch(path, place + len(mark) + skip, struct.pack(layout, *numbers))

    return harm


def _png_size(width, height):
    def harm(path):
        head = b"IHDR" + struct.pack(">II", width, height) + path.read_bytes()[24:29]
        _patch(path, 12, head + struct.pack(">I", zlib.crc32(head)))

    return harm


def _tags(**elements):
    def harm(path):
        data = dcmread(path)
        for keyword, value in elements.items():
            setattr(data, keyword, value)
        data.save_as(path)

    return harm


def _contour(*numbers):
    def harm(path):
        data = dcmread(path)
        contour = data.ROIContourSequence[0].ContourSequence[0]
        with disable_value_validation():
            contour.ContourData = list(numbers)
            data.save_as(path)

    return harm


def _header_line(name, value):
    def harm(path):
        pattern = rb"(?m)^" + name.encode() + rb" =.*$"
        line = f"{name} = {value}".encode()
        path.write_bytes(re.sub(pattern, line, path.read_bytes(), count=1))

    return harm


def _hollow(path):
    """An array of terabytes, none of which was ever written."""
    with h5py.File(path, "w") as file:
        file.create_dataset("image", (1 << 20, 1 << 20), "f8", chunks=(64, 64), compression="gzip")


def _far_away(path):
    with h5py.File(path, "w") as file:
        outside = [(str(path.parent.parent / "secret"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("image", (40, 56), "u2", external=outside)


def _virtual(path):
    with h5py.File(path, "w") as file:
        layout = h5py.VirtualLayout((40, 56), "u2")
        layout[:] = h5py.VirtualSource("../secret.h5", "image", (40, 56))
        file.create_virtual_dataset("image", layout)


def _link_out(path):
    with h5py.File(path, "w") as file:
        file["image"] = h5py.ExternalLink("../secret.h5", "image")


HUGE = 0x7FFFFFFF
ABSURD = {
    "png-wide": ("png", _png_size(HUGE, HUGE), {"too-large", "unreadable"}),
    "png-none": ("png", _png_size(0, 0), {"unreadable"}),
    "bmp-wide": ("bmp", _at(18, "<ii", HUGE, HUGE), {"too-large", "unreadable"}),
    "bmp-negative": ("bmp", _at(18, "<ii", -40, -(1 << 31)), {"too-large", "unreadable"}),
    "gif-wide": ("gif", _at(6, "<HH", 65535, 65535), {"too-large"}),
    "gif-film-wide": ("gif-film", _at(6, "<HH", 65535, 65535), {"too-large"}),
    "jpeg-wide": ("jpg", _after(b"\xff\xc0", 3, ">HH", 65535, 65535), {"too-large"}),
    "dicom-wide": ("dicom", _tags(Rows=65535, Columns=65535), {"too-large"}),
    "dicom-deep": ("dicom", _tags(Rows=13000, Columns=13000), {"truncated"}),
    "dicom-none": ("dicom", _tags(Rows=0), {"no-pixels"}),
    "dicom-frames": ("dicom", _tags(NumberOfFrames=HUGE), {"truncated"}),
    "dicom-frames-negative": ("dicom", _tags(NumberOfFrames=-HUGE), {"unreadable"}),
    "dicom-frames-few": ("dicom-frames", _tags(NumberOfFrames=5000), {"unreadable", "truncated"}),
    "dicom-two-sizes": ("dicom", _tags(Rows=[40, 40]), {"unreadable"}),
    "dicom-spacing": ("dicom", _tags(PixelSpacing=[1e-30, 1e30]), {"unreadable"}),
    "rle-wide": (
        "dicom-RLELossless",
        _tags(Rows=30000, Columns=30000),
        {"unreadable", "too-large"},
    ),
    "jpeg2000-wide": (
        "dicom-JPEG2000Lossless",
        _after(b"\xff\x51", 4, ">II", HUGE, HUGE),
        {"unreadable", "truncated", "too-large"},
    ),
    "series-wide": ("series", _tags(Rows=65535, Columns=65535), {"too-large"}),
    "series-place": (
        "series",
        _tags(ImagePositionPatient=[0, 0, "1e300"]),
        {"singular-affine", "no-position"},
    ),
    "nii-wide": ("nii", _at(42, "<3h", 32767, 32767, 32767), {"too-large"}),
    "nii-negative": ("nii", _at(42, "<3h", -32768, 56, 5), {"unreadable"}),
    "nii-axes": ("nii", _at(40, "<h", -3), {"unreadable"}),
    "nii-many-axes": ("nii", _at(40, "<h", 32767), {"unreadable"}),
    "nii-offset": ("nii", _at(108, "<f", -1e30), {"unreadable"}),
    "nii-no-offset": ("nii", _at(108, "<f", float("nan")), {"unreadable"}),
    "nii-spacing": (
        "nii",
        _at(280, "<f", 1e-30),
        {"unreadable", "singular-affine"},
    ),
    "mhd-wide": ("mhd", _header_line("DimSize", f"{HUGE} {HUGE} {HUGE}"), {"too-large"}),
    "mhd-over": (
        "mhd",
        _header_line("DimSize", "4294967296 4294967296 4"),
        {"too-large", "unreadable"},
    ),
    "mhd-large": ("mhd", _header_line("DimSize", "13000 13000 2"), {"truncated"}),
    "mhd-negative": ("mhd", _header_line("DimSize", "-56 40 5"), {"unreadable", "too-large"}),
    "mhd-axes": ("mhd", _header_line("NDims", "1000000"), {"unreadable", "truncated"}),
    "mhd-spacing": (
        "mhd",
        _header_line("ElementSpacing", "1e-30 1 1"),
        {"unreadable", "singular-affine"},
    ),
    "mha-wide": ("mha", _header_line("DimSize", "20000 20000 2"), {"too-large"}),
    "mat-hollow": ("mat", _hollow, {"too-large"}),
    "avi-wide": ("avi", _after(b"strf", 8, "<ii", HUGE, HUGE), set()),
    "avi-frames": ("avi", _after(b"avih", 20, "<I", HUGE), set()),
    "seg-wide": ("seg", _tags(Rows=65535, Columns=65535), {"too-large"}),
    "seg-large": ("seg", _tags(Rows=13000, Columns=13000), {"truncated"}),
    "seg-frames": ("seg", _tags(NumberOfFrames=HUGE), {"truncated"}),
    "rtstruct-nan": ("rtstruct", _contour("nan", 1, 1, 2, 2, 2, 3, 1, 1), {"unreadable"}),
    "rtstruct-far": ("rtstruct", _contour("1e300", 1, 1, 2, 2, 2, 3, 1, 1), {"unreadable"}),
    "rtstruct-odd": ("rtstruct", _contour(1, 2, 3, 4), {"unreadable"}),
}


@pytest.mark.parametrize("name", ABSURD)
def test_an_absurd_header_is_refused_before_memory_is_taken(victim, name):
    kind, harm, expected = ABSURD[name]
    if kind not in SOUND:
        pytest.skip(f"no encoder here writes {kind}")
    codes, _ = victim(kind, harm)
    assert set(codes) <= expected
    assert bool(codes) == bool(expected)


def _zeros(count, wrap):
    """About ``count`` MiB of zeros, deflated without ever being there as a whole."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, wrap)
    block = bytes(1 << 20)
    first = deflater.compress(block) + deflater.flush(zlib.Z_FULL_FLUSH)
    again = deflater.compress(block) + deflater.flush(zlib.Z_FULL_FLUSH)
    return first + again * (count - 1)


def _chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _png_bomb(width, height, *, text=0):
    def harm(path):
        head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
        words = _chunk(b"zTXt", b"Comment\0\0" + _zeros(text, 15)) if text else b""
        pixels = _zeros(4096, 15)
        parts = (_chunk(b"IHDR", head), words, _chunk(b"IDAT", pixels), _chunk(b"IEND", b""))
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))

    return harm


def _gzip_bomb(shape, *, says=None):
    """NIfTI that unpacks to four gigabytes, whatever its header says."""

    def harm(path):
        raw = bytearray(gzip.decompress(path.read_bytes()))
        struct.pack_into("<3h", raw, 42, *shape)
        packed = gzip.compress(bytes(raw)) + gzip.compress(bytes(1 << 24), 9) * 256
        path.write_bytes(packed[:-4] + struct.pack("<I", says) if says else packed)

    return harm


def _deflate_bomb(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<I", content[140:144])
    path.write_bytes(content[: 144 + length] + _zeros(4096, -15))


def _matlab_bomb(path):
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "image", (1 << 15, 1 << 15), "f4", chunks=(1 << 12, 1 << 12), compression="gzip"
        )[: 1 << 12, : 1 << 12] = 0


BOMBS = {
    "png-pixels": ("png", _png_bomb(60000, 60000), {"too-large"}),
    "png-more-than-it-says": ("png", _png_bomb(56, 40), {"blank", "unreadable"}),
    "png-text": ("png", _png_bomb(56, 40, text=4096), {"unreadable"}),
    "gzip-behind-the-volume": ("nii.gz", _gzip_bomb((56, 40, 5)), set()),
    "gzip-that-lies": ("nii.gz", _gzip_bomb((56, 40, 5), says=0xFFFFFFFF), set()),
    "gzip-volume": ("nii.gz", _gzip_bomb((32000, 32000, 2)), {"too-large"}),
    "gzip-huge-volume": ("nii.gz", _gzip_bomb((1000, 32000, 30)), {"too-large"}),
    "dicom-deflated": ("dicom-deflated", _deflate_bomb, {"too-large"}),
    "matlab": ("mat", _matlab_bomb, {"too-large"}),
    "metaimage": ("mha", _header_line("DimSize", "30000 30000 1"), {"truncated", "too-large"}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_decompression_bomb_does_not_go_off(victim, name):
    kind, harm, expected = BOMBS[name]
    codes, _ = victim(kind, harm)
    assert set(codes) <= expected
    assert bool(codes) == bool(expected)


@pytest.mark.parametrize(
    ("kind", "harm"),
    [
        ("mhd", _header_line("ElementDataFile", "../secret.raw")),
        ("mhd", _header_line("ElementDataFile", "/etc/hostname")),
        ("mhd", _header_line("ElementDataFile", "LIST")),
        ("mhd", _header_line("ElementDataFile", "page%d.raw 1 5 1")),
        ("mhd", _header_line("ElementDataFile", "")),
        ("mat", _far_away),
        ("mat", _virtual),
        ("mat", _link_out),
    ],
)
def test_a_header_cannot_lead_to_another_file(victim, kind, harm, tmp_path):
    (tmp_path / "secret.raw").write_bytes(BODY.tobytes())
    (tmp_path / "secret").write_bytes(BODY.tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["image"] = BODY[0]
    codes, _ = victim(kind, harm)
    assert set(codes) & {"outside-root", "unsupported-format", "unreadable", "missing-member"}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["png", "nii.gz", "series"])
def test_a_full_disk_is_an_error_and_leaves_no_rest(victim, tmp_path, kind):
    full = Worker(resource.RLIMIT_FSIZE, 100)
    try:
        with pytest.raises(WorkspaceError, match="disk not full"):
            victim(kind, runner=full)
    finally:
        full.stop()
    assert not [path for path in (tmp_path / "images").rglob("*") if path.is_file()]
