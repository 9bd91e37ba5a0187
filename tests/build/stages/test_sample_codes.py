"""Codes of images: equal exactly if the values are, in any number of parts of a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.stages.sample_codes import codes_of, in_several
from medrcube.build.stages.samples import SAMPLES, Sample

PLAIN = {
    "int": 0,
    "float": 0.0,
    "bool": False,
}


def sample(**stated):
    values = {
        name: PLAIN.get(str(field.type), "") for name, field in Sample.__dataclass_fields__.items()
    }
    return Sample(**{**values, **stated})


NAMES = st.sampled_from(["", "a", "b", "a|b"])
IMAGES = st.builds(
    sample, source=NAMES, case=NAMES, frames=NAMES, patient=NAMES, pixel_sha256=NAMES, id=NAMES
)
PARTS = st.lists(st.lists(IMAGES, max_size=4), max_size=4)

VALUES = {
    "sources": lambda image: image.source,
    "cases": lambda image: (image.source, image.case),
    "slices": lambda image: (image.source, image.case, image.frames),
    "patients": lambda image: (image.source, image.patient or image.case),
    "pixels": lambda image: image.pixel_sha256,
}


@pytest.mark.parametrize("name", VALUES)
@given(parts=PARTS)
def test_two_images_have_one_code_exactly_if_they_have_one_value(name, parts):
    table = SAMPLES.join([SAMPLES.table(part) for part in parts])
    codes = getattr(codes_of(table), name).tolist()
    values = [VALUES[name](image) for part in parts for image in part]
    assert len(codes) == len(values)
    assert len(set(zip(codes, values, strict=True))) == len(set(codes)) == len(set(values))


@pytest.mark.parametrize("column", ["source", "id"])
@given(parts=PARTS)
def test_the_mask_of_some_values_is_that_of_their_images(column, parts):
    table = SAMPLES.join([SAMPLES.table(part) for part in parts])
    mask = codes_of(table).is_one_of(column, {"a", "c"})
    assert mask.tolist() == [getattr(image, column) == "a" for part in parts for image in part]


@given(parts=PARTS)
def test_codes_in_several_cases_are_those_whose_images_have_several(parts):
    images = [image for part in parts for image in part]
    codes = codes_of(SAMPLES.join([SAMPLES.table(part) for part in parts]))
    cases = {}
    for image in images:
        cases.setdefault(image.pixel_sha256, set()).add((image.source, image.case))
    several = in_several(codes.pixels, codes.cases)
    assert several.tolist() == [len(cases[image.pixel_sha256]) > 1 for image in images]


def test_texts_come_in_the_order_of_the_table():
    table = SAMPLES.join([SAMPLES.table([sample(source="a", id="1"), sample(source="b", id="2")])])
    texts = codes_of(table).texts(("source", "id"), "|")
    assert [text for block in texts for text in block] == ["a|1", "b|2"]
