"""Marks drawn into phantoms of ultrasound and film are found, and tissue is not taken for one."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from medrcube.build.burnt_in.detection import detect_marks, graphics_of, points_at_lesion

WHITE = 225
LESION = (200, 150, 320, 240)
CENTRE = (260, 195)


@cache
def tissue(seed=0, shape=(400, 520)):
    """Speckle that is softer than a stroke, with bright layers and one dark lesion."""
    speckle = np.random.default_rng(seed).rayleigh(60, shape)
    grey = ndimage.gaussian_filter(speckle, (1.2, 2.0))
    grey[30:400:40] += 60
    x0, y0, x1, y1 = LESION
    grey[y0:y1, x0:x1] *= 0.3
    return np.clip(ndimage.gaussian_filter(grey, 1), 0, 255).astype(np.uint8)


def paint_on(paint, background=None, colour=WHITE):
    image = Image.fromarray(tissue() if background is None else background)
    if isinstance(colour, tuple):
        image = image.convert("RGB")
    paint(ImageDraw.Draw(image), colour)
    return np.asarray(image)


def cross(x, y, arm=8, width=3):
    def paint(draw, colour):
        draw.line((x - arm, y, x + arm, y), colour, width)
        draw.line((x, y - arm, x, y + arm), colour, width)

    return paint


def words(x, y, text="RT AXILLA"):
    font = ImageFont.load_default(16)
    return lambda draw, colour: draw.text((x, y), text, colour, font)


def kinds(picture, detector="ultrasound"):
    return {mark.kind for mark in detect_marks(picture, detector)}


@pytest.mark.parametrize("seed", range(20))
def test_tissue_alone_carries_no_mark(seed):
    assert detect_marks(tissue(seed), "ultrasound") == []


@given(
    x=st.integers(20, 500),
    y=st.integers(20, 380),
    arm=st.integers(5, 11),
    width=st.sampled_from((1, 2, 3)),
)
def test_a_caliper_is_found_wherever_it_is_set(x, y, arm, width):
    marks = detect_marks(paint_on(cross(x, y, arm, width)), "ultrasound")
    assert any(
        mark.kind == "caliper"
        and mark.extent.left <= x < mark.extent.right
        and mark.extent.top <= y < mark.extent.bottom
        for mark in marks
    )


def test_a_line_and_a_corner_are_no_caliper():
    def paint(draw, colour):
        draw.line((100, 100, 130, 100), colour, 3)
        draw.line((100, 300, 120, 300), colour, 3)
        draw.line((100, 300, 100, 320), colour, 3)

    assert "caliper" not in kinds(paint_on(paint))


def test_words_are_found_as_one_row():
    marks = [m for m in detect_marks(paint_on(words(40, 340)), "ultrasound") if m.kind == "text"]
    left = min(mark.extent.left for mark in marks)
    assert 38 <= left <= 45
    assert max(mark.extent.right for mark in marks) >= 100


def test_a_coloured_drawing_on_grey_tissue_is_found():
    assert "colour" in kinds(paint_on(cross(*CENTRE), colour=(250, 240, 20)))


def test_a_picture_that_is_tinted_throughout_carries_no_coloured_drawing():
    tinted = np.stack([tissue(), tissue() // 2, tissue()], axis=2)
    assert "colour" not in kinds(np.clip(tinted * 2, 0, 255).astype(np.uint8))


@pytest.mark.parametrize(
    ("paint", "place"),
    [(words(210, 180), "on"), (words(210, 245), "near"), (words(10, 360), "apart")],
)
def test_words_have_a_place_beside_the_region(paint, place):
    assert graphics_of(paint_on(paint), "ultrasound", [LESION]) == f"text:{place}"


@pytest.mark.parametrize(("where", "place"), [((210, 180), "inside"), ((10, 10), "rim")])
def test_without_a_region_words_lie_inside_or_on_the_rim(where, place):
    assert graphics_of(paint_on(words(*where)), "ultrasound", []) == f"text:{place}"


@pytest.mark.parametrize(
    ("graphics", "expected"),
    [
        ("", False),
        ("text:apart", False),
        ("text:rim", False),
        ("text:apart text:near", True),
        ("text:on", True),
        ("text:inside", True),
        ("caliper:apart", True),
        ("arrow:rim", True),
        ("colour:on", True),
    ],
)
def test_what_points_at_a_lesion_gives_it_away(graphics, expected):
    assert points_at_lesion(graphics) is expected


def of_busi(folder, key):
    """A real picture and the boxes of its lesions; skips where the copy lacks it."""
    place = folder / "Dataset_BUSI_with_GT" / key.split()[0]
    if not (place / f"{key}.png").is_file():
        pytest.skip(f"{key} is not among the real samples")
    masks = [Image.open(path).convert("L") for path in place.glob(f"{key}_mask*.png")]
    return np.asarray(Image.open(place / f"{key}.png").convert("L")), [
        mask.getbbox() for mask in masks if mask.getbbox()
    ]


@pytest.mark.real
@pytest.mark.parametrize("key", ["benign (4)", "benign (54)", "malignant (1)", "normal (10)"])
def test_real_pictures_whose_lesion_is_unmarked_may_be_asked(real_raw, key):
    assert not points_at_lesion(
        graphics_of(of_busi(real_raw, key)[0], "ultrasound", of_busi(real_raw, key)[1])
    )


@pytest.mark.real
def test_calipers_on_a_real_lesion_give_it_away(real_raw):
    picture, regions = of_busi(real_raw, "malignant (53)")
    assert "caliper:on" in graphics_of(picture, "ultrasound", regions)


@pytest.mark.real
@pytest.mark.parametrize(
    "folder", ["covid19_pocus_ultrasound/data/pocus_images", "HC18/training_set", "HC18/test_set"]
)
def test_real_ultrasound_without_graphics_carries_none(real_raw, folder):
    paths = [path for path in (real_raw / folder).rglob("*.*") if path.suffix.lower() != ".csv"]
    assert paths
    for path in paths:
        assert detect_marks(np.asarray(Image.open(path).convert("RGB")), "ultrasound") == [], path


def film(seed=0, shape=(700, 800)):
    """Two dark lungs in a bright body, soft edges throughout."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    grey = np.full(shape, 170.0)
    for centre in (0.3, 0.7):
        inside = ((rows / shape[0] - 0.5) / 0.35) ** 2 + (
            (columns / shape[1] - centre) / 0.16
        ) ** 2 < 1
        grey[inside] = 70
    noise = np.random.default_rng(seed).normal(0, 6, shape)
    return np.clip(ndimage.gaussian_filter(grey, 8) + noise, 0, 255).astype(np.uint8)


def arrow(x, y, size=60):
    """An arrow that points to the right, its tip at (x, y)."""
    half, shaft = size / 3, size / 8
    outline = [(x, y), (x - size / 2, y - half), (x - size / 2, y - shaft), (x - size, y - shaft)]
    outline += [(a, 2 * y - b) for a, b in reversed(outline[1:])]
    return lambda draw, colour: draw.polygon(outline, fill=colour)


@pytest.mark.parametrize(
    ("background", "colour", "kind"),
    [
        ("lung", 255, "arrow"),
        ("heart", 0, "arrow"),
        ("lung", (230, 30, 30), "colour"),
        ("heart", (250, 240, 20), "colour"),
    ],
)
def test_an_arrow_on_a_film_is_found(background, colour, kind):
    x = 260 if background == "lung" else 430
    assert kind in kinds(paint_on(arrow(x, 350), film(), colour), "film")


def test_a_film_carries_no_arrow_by_itself():
    assert [detect_marks(film(seed), "film") for seed in range(5)] == [[]] * 5


@pytest.mark.parametrize(("x", "y"), [(60, 30), (740, 40), (60, 660)])
@pytest.mark.parametrize("colour", [255, (90, 250, 250)])
def test_side_letters_and_words_of_the_viewer_are_no_arrows(x, y, colour):
    assert detect_marks(paint_on(words(x, y, "L"), film(), colour), "film") == []


@pytest.mark.parametrize("y", [40, 650])
def test_a_large_letter_in_the_outer_rows_is_no_arrow(y):
    def paint(draw, colour):
        draw.polygon(
            [(60, y), (68, y), (68, y + 30), (90, y + 30), (90, y + 38), (60, y + 38)], colour
        )

    assert detect_marks(paint_on(paint, film(), 255), "film") == []


@pytest.mark.real
@pytest.mark.parametrize(
    "folder",
    ["covid-chestxray-dataset/images", "Brixia-score-COVID-19/data", "ChestX-ray14/images"],
)
def test_real_films_without_drawings_carry_none(real_raw, folder):
    paths = [path for path in sorted((real_raw / folder).rglob("*.*")) if path.suffix != ".csv"]
    assert paths
    ct = ("16745_2_3", "16745_4_2", "16631_1_1")
    for path in paths:
        if path.stem in ct:
            continue
        with Image.open(path) as picture:
            marks = detect_marks(np.asarray(picture.convert("RGB")), "film")
        assert marks == [], path
