from __future__ import annotations

import numpy as np
import pytest

from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, PixelLayout
from medrcube.sources._synthetic import images

FILM = images.picture(40, 50, seed=3, maximum=4095)
LAYOUT = PixelLayout(rows=40, columns=50, dtype=">u2", bits=12, inverted=True, spacing=(0.2, 0.4))


def load(path, layout=LAYOUT, frame=None):
    return read(ImageRef(paths=(path,), raw=layout, frame=frame))


def refused(path, layout=LAYOUT, frame=None):
    with pytest.raises(ReadError) as excinfo:
        load(path, layout, frame)
    return excinfo.value.code


@pytest.fixture
def film(tmp_path):
    path = tmp_path / "JPCLN001.IMG"
    path.write_bytes((4095 - FILM).astype(">u2").tobytes())
    return path


def test_pixels_are_those_of_the_layout(film):
    volume = load(film)
    assert volume.slices.dtype == np.dtype(np.uint16)
    assert np.array_equal(volume.slices[0], 4095 - FILM)
    assert volume.spacing == (1.0, 0.2, 0.4)


def test_inverted_film_is_shown_upright_in_tone(film):
    picture = display_transform(load(film), "bits").apply(load(film).slices[0])
    assert np.abs(picture.astype(int) - FILM * (255 / 4095)).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("change", [-2, -1, 1, 4000])
def test_file_of_another_size_is_refused(film, change):
    data = film.read_bytes()
    film.write_bytes(data[:change] if change < 0 else data + bytes(change))
    assert refused(film) == "file-size"


def test_wrong_byte_order_is_refused(film):
    little = PixelLayout(rows=40, columns=50, dtype="<u2", bits=12)
    assert refused(film, little) == "wrong-layout"


def test_file_without_header_is_one_picture_and_must_exist(film):
    assert load(film, frame=0).slices.shape == (1, 40, 50)
    assert refused(film, frame=1) == "missing-frame"
    film.unlink()
    assert refused(film) == "missing-file"


def test_signed_values_keep_to_their_bits(tmp_path):
    layout = PixelLayout(rows=1, columns=4, dtype="<i2", bits=12)
    for values, fits in (([-2048, 0, 1, 2047], True), ([-2049, 0, 0, 0], False)):
        (tmp_path / "a.raw").write_bytes(np.asarray(values, "<i2").tobytes())
        if fits:
            assert load(tmp_path / "a.raw", layout).slices[0].tolist() == [values]
        else:
            assert refused(tmp_path / "a.raw", layout) == "wrong-layout"
