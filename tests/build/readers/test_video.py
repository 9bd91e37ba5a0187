from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from medrcube.build.pixels.volume import ForwardSlices, stack_slices
from medrcube.build.readers import read
from medrcube.build.readers.video import video
from medrcube.errors import ReadError
from medrcube.facts import ImageRef

COUNT = 12


def picture(k, *, colour=False):
    """A bright square whose place tells the frame."""
    frame = np.full((48, 64, 3), 30, np.uint8)
    frame[4:20, 4 + 4 * k : 12 + 4 * k] = (220, 60, 60) if colour else 220
    return frame


def save(path, codec, *, colour=False, aspect=None):
    with av.open(path, "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height = 64, 48
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.gop_size = COUNT
        stream.bit_rate = 2_000_000
        if aspect:
            stream.codec_context.sample_aspect_ratio = aspect
        for k in range(COUNT):
            frame = av.VideoFrame.from_ndarray(picture(k, colour=colour), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def load(path, frame=None):
    return read(ImageRef(paths=(path,), frame=frame))


def place(pixels):
    """Frame number as the picture shows it."""
    grey = pixels if pixels.ndim == 2 else pixels.mean(-1)
    return round((np.argwhere(grey[6:18].mean(0) > 80).mean() - 7.5) / 4)


@pytest.mark.parametrize(
    ("name", "codec"),
    [("a.avi", "mjpeg"), ("a.mp4", "mpeg4"), ("a.mov", "mpeg4"), ("a.mpg", "mpeg1video")],
)
def test_frames_are_counted_and_found(tmp_path, name, codec):
    volume = load(save(tmp_path / name, codec))
    assert volume.slices.shape[:3] == (COUNT, 48, 64)
    assert [place(volume.slices[k]) for k in range(COUNT)] == list(range(COUNT))


def test_random_access_gives_what_reading_in_order_gives(tmp_path):
    volume = load(save(tmp_path / "a.mp4", "mpeg4"))
    whole = stack_slices(volume.slices).copy()
    for k in (7, 2, 2, 11, 0, 1):
        assert np.array_equal(volume.slices[k], whole[k])
        alone = load(tmp_path / "a.mp4", frame=k).slices[0]
        assert np.array_equal(alone, whole[k])
    with pytest.raises(IndexError):
        volume.slices[COUNT]


@pytest.mark.parametrize("colour", [False, True])
def test_video_that_is_too_long_for_memory_has_the_same_frames(tmp_path, monkeypatch, colour):
    path = save(tmp_path / "a.mp4", "mpeg4", colour=colour)
    frames = stack_slices(load(path).slices)
    monkeypatch.setattr(video, "_MOST_KEPT", 3 * 64 * 48 * 3 // 2)
    volume = load(path)
    assert isinstance(volume.slices, ForwardSlices)
    assert np.array_equal(stack_slices(volume.slices), frames)


def test_frames_are_decoded_once(tmp_path, monkeypatch):
    path = save(tmp_path / "a.mp4", "mpeg4")
    opened, really_open = [], av.open

    def note(*arguments, **named):
        opened.append(arguments)
        return really_open(*arguments, **named)

    monkeypatch.setattr(av, "open", note)
    stack_slices(load(path).slices)
    assert len(opened) == 1


def test_grey_frames_of_a_coloured_video_are_rgb(tmp_path):
    with av.open(tmp_path / "a.avi", "w") as container:
        stream = container.add_stream("ffv1", rate=25)  # lossless: a grey frame stays grey
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for k in range(COUNT):
            frame = av.VideoFrame.from_ndarray(picture(k, colour=k == 5), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    slices = load(tmp_path / "a.avi").slices
    assert slices.shape == (COUNT, 48, 64, 3)
    assert slices[2].shape == (48, 64, 3)
    assert (slices[2] == slices[2][..., :1]).all()
    assert load(tmp_path / "a.avi", frame=2).slices.shape == (1, 48, 64)


def test_video_without_colour_is_grey_and_with_colour_rgb(tmp_path):
    assert load(save(tmp_path / "a.avi", "mpeg4")).slices.shape == (COUNT, 48, 64)
    coloured = load(save(tmp_path / "b.avi", "mpeg4", colour=True))
    assert coloured.slices.shape == (COUNT, 48, 64, 3)
    red, green, blue = coloured.slices[3][12, 20].astype(int)
    assert red - green > 100
    assert abs(green - blue) < 20


def test_suffix_does_not_matter(tmp_path):
    save(tmp_path / "a.avi", "mjpeg").rename(tmp_path / "a.gif")
    assert load(tmp_path / "a.gif").slices.shape[0] == COUNT


def test_oblong_pixels_show_in_the_spacing(tmp_path):
    path = save(tmp_path / "a.mp4", "mpeg4", aspect=Fraction(4, 3))
    assert load(path).spacing == pytest.approx((1, 1, 4 / 3))
    assert load(save(tmp_path / "b.mp4", "mpeg4")).spacing is None


def shown_by(path, *matrix):
    """Let the container show its pictures through another matrix (ISO 14496-12 8.3.2)."""
    content = bytearray(path.read_bytes())
    unit, replacement = (
        np.array([a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30], ">i4").tobytes()
        for a, b, c, d in ((1, 0, 0, 1), matrix)
    )
    start = content.index(unit, content.index(b"tkhd"))
    content[start : start + len(unit)] = replacement
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("matrix", "turns"), [((0, 1, -1, 0), -1), ((-1, 0, 0, -1), 2), ((0, -1, 1, 0), 1)]
)
def test_rotation_of_the_container_is_applied_to_pictures_and_to_their_pixels(
    tmp_path, matrix, turns
):
    upright = load(save(tmp_path / "a.mp4", "mpeg4", aspect=Fraction(4, 3)))
    turned = load(shown_by(save(tmp_path / "b.mp4", "mpeg4", aspect=Fraction(4, 3)), *matrix))
    # The matrix maps (x, y) to (-y, x) in the first case: a quarter turn clockwise.
    assert np.array_equal(turned.slices[3], np.rot90(upright.slices[3], turns))
    wide, tall = (1, 1, 4 / 3), (1, 4 / 3, 1)
    assert upright.spacing == pytest.approx(wide)
    assert turned.spacing == pytest.approx(tall if turns % 2 else wide)
    alone = load(tmp_path / "b.mp4", frame=3)
    assert alone.spacing == turned.spacing
    assert np.array_equal(alone.slices[0], turned.slices[3])


@pytest.mark.parametrize("matrix", [(-1, 0, 0, 1), (1, 1, -1, 1)], ids=["mirrored", "slanted"])
def test_video_that_is_to_be_shown_in_another_way_is_refused(tmp_path, matrix):
    with pytest.raises(ReadError) as excinfo:
        load(shown_by(save(tmp_path / "a.mp4", "mpeg4"), *matrix))
    assert excinfo.value.code == "unsupported-format"


@pytest.mark.parametrize("frame", [COUNT, -1])
def test_frame_beyond_the_end_is_refused(tmp_path, frame):
    save(tmp_path / "a.avi", "mjpeg")
    with pytest.raises(ReadError) as excinfo:
        load(tmp_path / "a.avi", frame=frame)
    assert excinfo.value.code == "missing-frame"


def test_damaged_video_is_refused(tmp_path):
    path = save(tmp_path / "a.mp4", "mpeg4")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ReadError) as excinfo:
        load(path)
    assert excinfo.value.code in {"unreadable", "truncated"}


def test_sound_without_pictures_is_refused(tmp_path):
    with av.open(tmp_path / "a.mp4", "w") as container:
        stream = container.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with pytest.raises(ReadError) as excinfo:
        load(tmp_path / "a.mp4")
    assert excinfo.value.code == "unsupported-format"
