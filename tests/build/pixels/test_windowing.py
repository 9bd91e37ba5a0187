from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from medrcube.build.pixels.volume import LookupTable, PixelSemantics, Volume
from medrcube.build.pixels.windowing.policy import CT_PRESETS, display_transform
from medrcube.build.pixels.windowing.recorded_window import recorded_transform
from medrcube.errors import ReadError

INT16 = hnp.arrays(np.int16, (2, 4, 5), elements=st.integers(-2000, 4000))
FUNCTIONS = ("linear", "linear_exact", "sigmoid")


def reference(values, centre, width, function):
    """DICOM PS3.3 C.11.2.1.2 and C.11.2.1.3, one value at a time."""
    out = []
    for x in values.ravel().astype(float):
        if function == "linear":
            if x <= centre - 0.5 - (width - 1) / 2:
                y = 0.0
            elif x > centre - 0.5 + (width - 1) / 2:
                y = 255.0
            else:
                y = ((x - (centre - 0.5)) / (width - 1) + 0.5) * 255
        elif function == "linear_exact":
            if x <= centre - width / 2:
                y = 0.0
            elif x > centre + width / 2:
                y = 255.0
            else:
                y = ((x - centre) / width + 0.5) * 255
        else:
            y = 255 / (1 + np.exp(min(-4 * (x - centre) / width, 700)))
        out.append(y)
    return np.asarray(out).reshape(values.shape)


def greys_of(volume, policy):
    scale = display_transform(volume, policy)
    return np.stack([scale.apply(volume.slices[k]) for k in range(len(volume.slices))])


@given(
    pixels=INT16,
    centre=st.floats(-1000, 2000),
    width=st.floats(1, 3000),
    function=st.sampled_from(FUNCTIONS),
    rescale=st.sampled_from([(1.0, 0.0), (1.0, -1024.0), (-0.5, 12.5), (2.0002442, -4047.0)]),
)
def test_integers_go_through_a_table_that_follows_the_standard(
    pixels, centre, width, function, rescale
):
    slope, intercept = rescale
    greys = PixelSemantics(
        slope=slope, intercept=intercept, windows=((centre, width),), function=function
    )
    grey = greys_of(Volume(slices=pixels, greys=greys), "header")
    exact = reference(pixels * slope + intercept, centre, width, function)
    assert grey.dtype == np.uint8
    assert np.abs(grey - exact).max() <= 0.5 + 1e-6


@given(pixels=INT16, centre=st.floats(-1000, 2000), width=st.floats(1, 3000))
def test_fractions_and_integers_of_equal_value_are_equally_grey(pixels, centre, width):
    greys = PixelSemantics(windows=((centre, width),))
    whole = greys_of(Volume(slices=pixels, greys=greys), "header")
    fractions = greys_of(Volume(slices=pixels.astype(np.float32), greys=greys), "header")
    wide = greys_of(Volume(slices=pixels.astype(np.int32), greys=greys), "header")
    assert np.array_equal(whole, fractions)
    assert np.array_equal(whole, wide)


@given(
    pixels=hnp.arrays(np.uint16, (1, 6, 7), elements=st.integers(0, 4095)),
    centre=st.integers(0, 4095),
    width=st.integers(1, 4096),
    policy=st.sampled_from(["header", "range", "bits", "percentile:25-75"]),
)
def test_both_polarities_of_one_picture_look_the_same(pixels, centre, width, policy):
    # x' = 4095 - x mirrors a linear window of centre c into one of centre 4096 - c.
    windows = policy == "header"
    policy = "header" if policy == "range" else policy
    plain = PixelSemantics(windows=((centre, width),) * windows, bits=12)
    mirrored = PixelSemantics(windows=((4096 - centre, width),) * windows, bits=12, inverted=True)
    first = greys_of(Volume(slices=pixels, greys=plain), policy)
    second = greys_of(Volume(slices=4095 - pixels, greys=mirrored), policy)
    assert np.array_equal(first, second)


def test_both_polarities_round_a_tie_to_the_same_grey():
    pixels = np.arange(511, dtype=np.uint16).reshape(1, 7, 73)
    plain = greys_of(Volume(slices=pixels), "header")
    mirrored = greys_of(Volume(slices=510 - pixels, greys=PixelSemantics(inverted=True)), "header")
    assert plain.ravel()[:4].tolist() == [0, 1, 1, 2]
    assert np.array_equal(plain, mirrored)


def test_monochrome1_is_inverted_after_the_window():
    pixels = np.array([[[0, 100, 200]]], np.uint16)
    greys = PixelSemantics(windows=((50.5, 101.0),), inverted=True)
    assert greys_of(Volume(slices=pixels, greys=greys), "header").tolist() == [[[255, 0, 0]]]


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.float32, ">i2", ">f4"])
@pytest.mark.parametrize("policy", ["header", "percentile:5-95", "ct:brain"])
def test_equal_values_are_equal_greys_in_every_slice(dtype, policy):
    pixels = np.zeros((3, 4, 4), dtype)
    pixels[:, 0, 0] = 40
    pixels[0, 1:] = 7
    pixels[1, 1:] = 900
    grey = greys_of(Volume(slices=pixels), policy)
    assert len(set(grey[:, 0, 0].tolist())) == 1
    assert grey.max() > 0


@pytest.mark.parametrize("order", ["<", ">"])
def test_byte_order_does_not_matter(order):
    pixels = np.arange(-300, 300, dtype=f"{order}i2").reshape(1, 20, 30)
    grey = greys_of(Volume(slices=pixels, greys=PixelSemantics(windows=((0, 400),))), "header")
    exact = reference(pixels, 0, 400, "linear")
    assert np.abs(grey - exact).max() <= 0.5


@pytest.mark.parametrize(
    ("policy", "black", "white"),
    [("ct:lung", -1350, 149), ("ct:brain", 0, 79), ("ct:mediastinum", -160, 239)],
)
def test_ct_presets_span_their_window_in_hounsfield_units(policy, black, white):
    hounsfield = np.arange(-2000, 2000, dtype=np.int16)
    pixels = (hounsfield + 1024).reshape(1, 1, -1)
    grey = greys_of(Volume(slices=pixels, greys=PixelSemantics(intercept=-1024)), policy)[0, 0]
    assert grey[hounsfield <= black].max() == 0
    assert grey[hounsfield >= white].min() == 255
    assert 0 < grey[hounsfield == (black + white) // 2][0] < 255
    assert CT_PRESETS[policy][1] == white - black + 1


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.int32])
def test_header_without_window_takes_the_range_of_the_whole_volume_and_says_so(dtype):
    pixels = np.array([[[10, 20]], [[30, 110]]], dtype)
    scale = display_transform(
        Volume(slices=pixels, greys=PixelSemantics(slope=2.0, intercept=-5.0)), "header"
    )
    assert scale.numbers["window"] == "range"
    assert (scale.numbers["low"], scale.numbers["high"]) == (15, 215)
    assert scale.apply(pixels[0]).tolist() == [[0, 26]]


def test_first_usable_window_is_taken():
    greys = PixelSemantics(windows=((40.0, 0.0), (50.0, 350.0), (-600.0, 1200.0)))
    numbers = display_transform(
        Volume(slices=np.zeros((1, 2, 2), np.int16), greys=greys), "header"
    ).numbers
    assert (numbers["window"], numbers["centre"], numbers["width"]) == ("linear", 50.0, 350.0)


@pytest.mark.parametrize(
    "unusable", [(np.nan, 350.0), (np.inf, 350.0), (40.0, np.nan), (40.0, np.inf)]
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_window_that_is_no_number_is_passed_over(unusable, function):
    greys = PixelSemantics(windows=(unusable, (50.0, 350.0)), function=function)
    volume = Volume(slices=np.zeros((1, 2, 2), np.int16), greys=greys)
    assert display_transform(volume, "header").numbers["centre"] == 50.0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_window_without_width_is_passed_over(function):
    for width in (0.0, -1.0):
        greys = PixelSemantics(windows=((40.0, width), (50.0, 350.0)), function=function)
        volume = Volume(slices=np.zeros((1, 2, 2), np.int16), greys=greys)
        assert display_transform(volume, "header").numbers["centre"] == 50.0


@pytest.mark.parametrize(
    ("function", "centre"), [("linear", 50.0), ("linear_exact", 40.0), ("sigmoid", 40.0)]
)
def test_a_linear_window_narrower_than_one_is_none(function, centre):
    """DICOM PS3.3 C.11.2.1.2: the width is at least 1 for linear, and above 0 for the others."""
    greys = PixelSemantics(windows=((40.0, 0.5), (50.0, 350.0)), function=function)
    volume = Volume(slices=np.zeros((1, 2, 2), np.int16), greys=greys)
    assert display_transform(volume, "header").numbers["centre"] == centre


def test_values_near_the_end_of_all_numbers_are_spread_over_the_greys():
    pixels = np.array([[[-1.6e308, 0.0, 1.6e308]]])
    assert greys_of(Volume(slices=pixels), "header").tolist() == [[[0, 128, 255]]]


def test_values_near_the_end_of_all_numbers_are_as_grey_as_small_ones():
    small = np.arange(511.0).reshape(1, 7, 73)
    assert np.array_equal(
        greys_of(Volume(slices=small * 2.0**1010), "header"),
        greys_of(Volume(slices=small), "header"),
    )


def test_a_rescale_that_leads_beyond_all_numbers_is_refused():
    for slope, pixels in ((10.0, [[[0.0, 1e308]]]), (-10.0, [[[0.0, 1e308]]])):
        volume = Volume(slices=np.array(pixels), greys=PixelSemantics(slope=slope))
        with np.errstate(over="ignore"), pytest.raises(ReadError) as excinfo:
            display_transform(volume, "header")
        assert excinfo.value.code == "not-finite"


def test_a_sigmoid_is_equally_grey_up_to_its_ninth_digit():
    """exp() may differ in its last bit between platforms, which must not decide a half."""
    pixels = np.array([[[-1e-12, 0.0, 1e-12]]])
    greys = PixelSemantics(windows=((0.0, 1.0),), function="sigmoid")
    assert greys_of(Volume(slices=pixels, greys=greys), "header").tolist() == [[[128, 128, 128]]]


def test_a_sigmoid_far_from_its_centre_is_black_or_white():
    pixels = np.array([[[-1e9, 1e9]]])
    greys = PixelSemantics(windows=((0.0, 1.0),), function="sigmoid")
    with np.errstate(all="raise"):
        assert greys_of(Volume(slices=pixels, greys=greys), "header").tolist() == [[[0, 255]]]


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("policy", ["header", "percentile:1-99"])
def test_constant_volume_is_black(dtype, inverted, policy):
    volume = Volume(slices=np.full((2, 3, 3), 7, dtype), greys=PixelSemantics(inverted=inverted))
    assert display_transform(volume, policy).numbers["window"] == "constant"
    assert not greys_of(volume, policy).any()


@pytest.mark.parametrize(("centre", "white"), [(5.0, 5), (5.5, 6), (4.5, 5)])
def test_window_of_width_one_is_a_step(centre, white):
    """DICOM PS3.3 C.11.2.1.2.1: a value at the lower end of the window is black."""
    pixels = np.array([[[4, 5, 6]]], np.int16)
    volume = Volume(slices=pixels, greys=PixelSemantics(windows=((centre, 1.0),)))
    assert greys_of(volume, "header")[0, 0].tolist() == [255 * (x >= white) for x in (4, 5, 6)]


@pytest.mark.parametrize("slope", [1.0, 0.5, -1.0])
@given(pixels=INT16)
def test_percentiles_are_values_of_the_volume_at_their_rank(slope, pixels):
    greys = PixelSemantics(slope=slope)
    for dtype in (np.int16, np.float32):
        volume = Volume(slices=pixels.astype(dtype), greys=greys)
        numbers = display_transform(volume, "percentile:10-90").numbers
        ranked = np.sort((pixels * slope).ravel())
        if numbers["window"] == "percentile":
            assert (numbers["low"], numbers["high"]) == (ranked[3], ranked[35])
        else:
            assert ranked[3] == ranked[35]


def test_percentiles_that_meet_fall_back_to_the_range():
    pixels = np.zeros((1, 100, 100), np.int16)
    pixels[0, 0, 0] = 50
    scale = display_transform(Volume(slices=pixels), "percentile:1-99")
    assert (scale.numbers["window"], scale.numbers["high"]) == ("range", 50)
    assert scale.apply(pixels[0]).max() == 255


def test_percentiles_that_meet_fall_back_to_both_ends_of_the_range():
    pixels = np.full((1, 100, 100), 30, np.int16)
    pixels[0, 0, :2] = -20, 50
    numbers = display_transform(Volume(slices=pixels), "percentile:1-99").numbers
    assert (numbers["window"], numbers["low"], numbers["high"]) == ("range", -20, 50)


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(dtype):
    pixels = np.arange(200, dtype=dtype).reshape(2, 10, 10)
    for share, rank in (("0", 1), ("0.5", 1), ("0.51", 2), ("1", 2), ("1.5", 3)):
        numbers = display_transform(Volume(slices=pixels), f"percentile:{share}-100").numbers
        assert (numbers["low"], numbers["high"]) == (rank - 1, 199)


def test_padding_counts_for_no_statistic():
    pixels = np.full((1, 10, 10), -2000, np.int16)
    pixels[0, 0, :2] = -1990
    pixels[0, 4:6, :] = np.arange(20).reshape(2, 10)
    greys = PixelSemantics(padding=(-2000, -1990))
    numbers = display_transform(Volume(slices=pixels, greys=greys), "header").numbers
    assert (numbers["low"], numbers["high"]) == (0, 19)


def test_volume_of_padding_alone_is_still_defined():
    volume = Volume(slices=np.full((1, 2, 2), -5, np.int16), greys=PixelSemantics(padding=(-5, -5)))
    assert not greys_of(volume, "header").any()


@pytest.mark.parametrize(
    ("dtype", "bits", "top"), [(np.uint16, 12, 4095), (np.uint16, None, 65535)]
)
def test_bits_spans_what_the_stored_bits_can_hold(dtype, bits, top):
    pixels = np.array([[[0, top]]], dtype)
    volume = Volume(slices=pixels, greys=PixelSemantics(bits=bits, slope=3.0, intercept=9.0))
    assert greys_of(volume, "bits").tolist() == [[[0, 255]]]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.uint16, np.int32, np.uint32])
def test_bits_without_a_number_span_the_whole_type(dtype):
    limits = np.iinfo(dtype)
    pixels = np.array([[[limits.min, limits.max]]], dtype)
    numbers = display_transform(Volume(slices=pixels), "bits").numbers
    assert (numbers["low"], numbers["high"]) == (limits.min, limits.max)
    assert greys_of(Volume(slices=pixels), "bits").tolist() == [[[0, 255]]]


def test_bits_of_signed_data_start_below_zero():
    pixels = np.array([[[-2048, 0, 2047]]], np.int16)
    assert greys_of(Volume(slices=pixels, greys=PixelSemantics(bits=12)), "bits").tolist() == [
        [[0, 128, 255]]
    ]


def test_eight_bits_pass_through_bits_unchanged():
    pixels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)
    assert np.array_equal(greys_of(Volume(slices=pixels), "bits"), pixels)


def test_none_keeps_eight_bit_pictures():
    pixels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)
    assert np.array_equal(greys_of(Volume(slices=pixels), "none"), pixels)
    inverted = greys_of(Volume(slices=pixels, greys=PixelSemantics(inverted=True)), "none")
    assert np.array_equal(inverted, 255 - pixels)


@pytest.mark.parametrize(
    ("dtype", "policy", "code"),
    [
        (np.uint16, "none", "not-8-bit"),
        (np.float32, "none", "not-8-bit"),
        (np.float32, "bits", "not-integer"),
    ],
)
def test_data_that_a_policy_cannot_serve_are_refused(dtype, policy, code):
    with pytest.raises(ReadError) as excinfo:
        display_transform(Volume(slices=np.zeros((1, 2, 2), dtype)), policy)
    assert excinfo.value.code == code


@pytest.mark.parametrize("policy", ["none", "header", "bits"])
def test_colour_passes_unchanged(policy):
    pixels = np.random.default_rng(1).integers(0, 256, (1, 4, 5, 3), dtype=np.uint8)
    assert np.array_equal(greys_of(Volume(slices=pixels), policy), pixels)


@pytest.mark.parametrize("policy", ["ct:brain", "percentile:1-99"])
def test_a_window_on_colour_is_refused(policy):
    with pytest.raises(ReadError) as excinfo:
        display_transform(Volume(slices=np.zeros((1, 2, 2, 3), np.uint8)), policy)
    assert excinfo.value.code == "not-grey"


def test_unknown_policy_and_function_are_refused():
    volume = Volume(slices=np.zeros((1, 2, 2), np.int16))
    with pytest.raises(ValueError, match="rainbow"):
        display_transform(volume, "rainbow")
    odd = Volume(
        slices=volume.slices, greys=PixelSemantics(windows=((1.0, 2.0),), function="cubic")
    )
    with pytest.raises(ReadError):
        display_transform(odd, "header")


def test_voi_table_goes_before_windows_and_holds_its_ends():
    table = LookupTable(first=-1, entries=np.array([0, 1000, 4095], np.uint16), bits=12)
    greys = PixelSemantics(intercept=-10.0, voi_table=table, windows=((0.0, 10.0),))
    pixels = np.array([[[0, 9, 10, 11, 500]]], np.int16)
    volume = Volume(slices=pixels, greys=greys)
    assert greys_of(volume, "header").tolist() == [[[0, 0, 62, 255, 255]]]
    numbers = display_transform(volume, "header").numbers
    assert (numbers["window"], numbers["first"]) == ("table", -1.0)


def test_modality_table_goes_before_slope():
    table = LookupTable(first=0, entries=np.array([300, 200, 100], np.uint16), bits=16)
    greys = PixelSemantics(slope=7.0, modality_table=table)
    scale = display_transform(
        Volume(slices=np.array([[[0, 1, 2]]], np.uint8), greys=greys), "header"
    )
    assert scale.apply(np.array([[0, 1, 2]], np.uint8)).tolist() == [[255, 128, 0]]
    assert (scale.numbers["low"], scale.numbers["modality"]) == (100, "table")


@pytest.mark.parametrize(("slices", "expected"), [(0, None), (3, 3)])
def test_numbers_tell_of_how_many_slices_a_window_is_the_median(slices, expected):
    greys = PixelSemantics(windows=((40.0, 400.0),), median_of=slices)
    pixels = np.zeros((3, 2, 2), np.int16)
    assert (
        display_transform(Volume(slices=pixels, greys=greys), "header").numbers.get("median_of")
        == expected
    )
    table = LookupTable(first=0, entries=np.array([0, 255], np.uint16), bits=8)
    tabled = PixelSemantics(windows=((40.0, 400.0),), median_of=slices, voi_table=table)
    assert (
        "median_of" not in display_transform(Volume(slices=pixels, greys=tabled), "header").numbers
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"slope": 2.0}, {"slope": 2.0, "intercept": 0.0}),
        ({"intercept": 1.0}, {"slope": 1.0, "intercept": 1.0}),
        ({"inverted": True}, {"inverted": "yes"}),
    ],
)
def test_numbers_tell_of_a_rescale_and_an_inversion_where_there_is_one(changes, expected):
    greys = PixelSemantics(windows=((40.0, 400.0),), **changes)
    numbers = display_transform(
        Volume(slices=np.zeros((1, 2, 2), np.int16), greys=greys), "header"
    ).numbers
    named = {"policy": "header", "window": "linear", "centre": 40.0, "width": 400.0}
    assert dict(numbers) == named | expected


def test_numbers_tell_what_was_done():
    greys = PixelSemantics(slope=1.0, intercept=-1024.0, windows=((40.0, 400.0),), inverted=True)
    numbers = display_transform(
        Volume(slices=np.zeros((1, 2, 2), np.int16), greys=greys), "header"
    ).numbers
    assert dict(numbers) == {
        "policy": "header",
        "window": "linear",
        "centre": 40.0,
        "width": 400.0,
        "slope": 1.0,
        "intercept": -1024.0,
        "inverted": "yes",
    }


def test_numbers_tell_of_repaired_headers_and_filled_values():
    greys = PixelSemantics(repair="signed pixels", filled=3)
    volume = Volume(slices=np.zeros((1, 2, 2), np.int16), greys=greys)
    numbers = display_transform(volume, "bits").numbers
    assert (numbers["repair"], numbers["filled"]) == ("signed pixels", 3)
    plain = display_transform(Volume(slices=volume.slices), "bits").numbers
    assert plain.keys() == {"policy", "window", "low", "high"}


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("policy", ["header", "percentile:1-99", "bits", "ct:lung"])
def test_numbers_of_a_recipe_give_its_greys_whatever_the_file_is_now_said_to_mean(
    policy, function, inverted
):
    pixels = np.arange(-300, 300, 5, dtype=np.int16).reshape(2, 6, 10)
    greys = PixelSemantics(
        slope=2.5, intercept=-7.0, windows=((40.0, 333.0),), function=function, inverted=inverted
    )
    volume = Volume(slices=pixels, greys=greys)
    numbers = json.loads(json.dumps(dict(display_transform(volume, policy).numbers)))
    other = replace(greys, slope=1.0, intercept=0.0, windows=(), inverted=not inverted)
    recorded = recorded_transform(replace(volume, greys=other), numbers)
    assert np.array_equal(recorded.apply(pixels), greys_of(volume, policy))
    assert dict(recorded.numbers) == numbers


@pytest.mark.parametrize(
    "numbers",
    [
        {},
        {"window": "table", "first": 0.0},
        {"window": "percentile", "low": 1},
        {"window": "percentile", "low": "1", "high": 2},
        {"window": "percentile", "low": float("nan"), "high": 2},
        {"window": "linear", "centre": 10, "width": 0},
        {"window": "linear", "centre": 10, "width": 9, "slope": "2"},
        {"window": "linear", "centre": 10, "width": 9, "modality": "table"},
        {"window": ["linear"], "centre": 10, "width": 9},
    ],
)
def test_numbers_that_describe_no_greys_by_themselves_give_none(numbers):
    assert recorded_transform(Volume(slices=np.ones((1, 2, 2), np.int16)), numbers) is None


@pytest.mark.parametrize("width", [0.5, 1])
def test_a_recipe_may_record_a_window_of_one_grey_or_less(width):
    volume = Volume(slices=np.arange(8, dtype=np.int16).reshape(1, 2, 4))
    numbers = {"window": "linear_exact", "centre": 3.5, "width": width}
    black, white = [0] * 4, [255] * 4
    assert recorded_transform(volume, numbers).apply(volume.slices[0]).tolist() == [black, white]


def test_a_recipe_gives_the_greys_of_no_colour_picture():
    numbers = {"window": "bits", "low": 0, "high": 255}
    colour = Volume(slices=np.zeros((1, 2, 2, 3), np.uint8))
    assert recorded_transform(colour, numbers) is None
    assert recorded_transform(Volume(slices=np.zeros((1, 2, 2), np.uint8)), numbers) is not None


def test_a_recipe_that_names_no_modality_table_uses_none():
    table = LookupTable(first=0, entries=np.array([255, 0], np.uint16), bits=8)
    greys = PixelSemantics(modality_table=table)
    volume = Volume(slices=np.array([[[0, 1]]], np.int16), greys=greys)
    numbers = {"window": "range", "low": 0, "high": 1}
    assert recorded_transform(volume, numbers).apply(volume.slices[0]).tolist() == [[0, 255]]
