import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.pixels.volume import without_equal_channels
from medrcube.build.readers.video.video_frames import FrameConverter

LUMA_PLANES = (
    "gray",
    *(f"yuv{kind}p" for kind in ("410", "411", "420", "422", "440", "444")),
    *(f"yuvj{kind}p" for kind in ("420", "422", "444")),
)
OTHERS = ("nv12", "yuyv422", "yuva420p", "yuv420p10le", "rgb24", "gbrp", "pal8", "ya8")
SIZES = st.tuples(st.integers(1, 70), st.integers(1, 20))


def frame_of(name, size, seed, *, chroma=128):
    """Random luma; every other plane holds ``chroma``."""
    rng = np.random.default_rng(seed)
    frame = av.VideoFrame(*size, name)
    for k, plane in enumerate(frame.planes):
        samples = rng.integers(0, 256, plane.buffer_size) if k == 0 else chroma
        plane.update(np.broadcast_to(samples, plane.buffer_size).astype(np.uint8).tobytes())
    return frame


@pytest.mark.parametrize("name", LUMA_PLANES)
@given(
    size=SIZES,
    seed=st.integers(0, 999),
    colorspace=st.sampled_from((0, 1, 2, 5, 6, 9)),
    color_range=st.integers(0, 2),
)
def test_greys_from_luma_are_those_of_the_conversion_to_rgb(
    name, size, seed, colorspace, color_range
):
    frame = frame_of(name, size, seed)
    frame.colorspace, frame.color_range = colorspace, color_range
    convert = FrameConverter()
    grey = convert.grey_or_rgb(frame)
    assert grey.shape == size[::-1]
    assert np.array_equal(np.repeat(grey[..., None], 3, axis=-1), convert.rgb(frame))


@pytest.mark.parametrize("name", OTHERS)
def test_other_codings_are_converted_by_way_of_rgb(name):
    frame, convert = frame_of(name, (34, 20), 1), FrameConverter()
    expected = without_equal_channels(convert.rgb(frame))
    assert np.array_equal(convert.grey_or_rgb(frame), expected)


@pytest.mark.parametrize("name", [name for name in LUMA_PLANES if name != "gray"])
def test_one_tinted_chroma_sample_makes_a_frame_coloured(name):
    frame, convert = frame_of(name, (64, 32), 2), FrameConverter()
    chroma = frame.planes[2]
    samples = np.full(chroma.buffer_size, 128, np.uint8)
    samples[(chroma.height - 1) * chroma.line_size + chroma.width - 1] = 255
    chroma.update(samples.tobytes())
    pixels = convert.grey_or_rgb(frame)
    assert np.array_equal(pixels, convert.rgb(frame))


def test_one_converter_serves_frames_of_several_codings():
    convert = FrameConverter()
    frames = [frame_of("yuvj420p", (32, 16), 3), frame_of("yuv420p", (32, 16), 3)]
    for frame in frames:
        assert np.array_equal(convert.grey_or_rgb(frame), convert.rgb(frame)[..., 0])
    first, second = map(convert.grey_or_rgb, frames)
    assert not np.array_equal(first, second)
