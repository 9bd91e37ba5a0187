"""A number is read of one box: of the frame that its tag touches, far from every other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.questions.roi_boxes import candidate_boxes
from medrcube.build.regions.box_labels import place_tags, tag_size
from medrcube.build.regions.draw_shapes import draw_boxes


def _overlap(a, b, margin=0):
    return (
        a[0] - margin < b[2] and b[0] < a[2] + margin
        and a[1] - margin < b[3] and b[1] < a[3] + margin
    )  # fmt: skip


def ambiguous(boxes, tags, shape):
    """What could be read in two ways, in geometric terms alone."""
    line = max(1, round(max(shape) / 256))
    width = 7 * max(1, round(max(shape) / 240))
    frames = [
        (max(x0 - line, 0), max(y0 - line, 0), min(x1 + line, shape[1]), min(y1 + line, shape[0]))
        for x0, y0, x1, y1 in boxes
    ]
    for n, (tag, own) in enumerate(zip(tags, frames, strict=True)):
        if tag[0] < 0 or tag[1] < 0 or tag[2] > shape[1] or tag[3] > shape[0]:
            yield f"tag {n} leaves the picture"
        if _overlap(tag, own) or not _overlap(tag, own, 1):
            yield f"tag {n} does not touch its own frame from outside"
        for m, frame in enumerate(frames):
            if m != n and _overlap(tag, frame, width):
                yield f"tag {n} is near frame {m}"
            if m < n and (_overlap(own, frame) or _overlap(tag, tags[m], width)):
                yield f"{m} and {n} overlap"


@st.composite
def _layouts(draw):
    shape = draw(st.tuples(st.integers(40, 700), st.integers(40, 700)))
    boxes = []
    for _ in range(draw(st.integers(2, 4))):
        x0, y0 = draw(st.integers(0, shape[1] - 2)), draw(st.integers(0, shape[0] - 2))
        x1 = draw(st.integers(x0 + 1, min(x0 + shape[1] // 2, shape[1])))
        y1 = draw(st.integers(y0 + 1, min(y0 + shape[0] // 2, shape[0])))
        boxes.append((x0, y0, x1, y1))
    return shape, boxes


@given(_layouts())
@settings(max_examples=300, deadline=None)
def test_tags_of_any_boxes_have_one_reading_or_are_refused(layout):
    shape, boxes = layout
    tags = place_tags(boxes, shape)
    if tags is not None:
        assert list(ambiguous(boxes, tags, shape)) == []


@given(
    shape=st.tuples(st.integers(80, 300), st.integers(80, 300)),
    place=st.tuples(st.floats(0.1, 0.8), st.floats(0.1, 0.8)),
    size=st.tuples(st.floats(0.005, 0.3), st.floats(0.005, 0.3)),
    seed=st.text(max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_drawn_boxes_of_any_region_have_one_reading(shape, place, size, seed):
    region = np.zeros(shape, np.bool_)
    corner = [int(length * share) for length, share in zip(shape, place, strict=True)]
    end = [c + max(int(n * s), 1) for c, n, s in zip(corner, shape, size, strict=True)]
    region[corner[0] : end[0], corner[1] : end[1]] = True
    picture = np.full(shape, 90, np.uint8)
    candidates = candidate_boxes(picture, region, [], ground=np.ones(shape, np.bool_), seed=seed)
    if candidates is None:
        return
    left, top, right, bottom = candidates.window
    extent = (bottom - top, right - left)
    assert list(ambiguous(candidates.boxes, place_tags(candidates.boxes, extent), extent)) == []
    canvas = draw_boxes(picture[top:bottom, left:right], candidates.boxes)
    for x0, y0, x1, y1 in candidates.boxes:
        assert (canvas[y0:y1, x0:x1] == 90).all()


def test_boxes_whose_frames_meet_are_refused():
    assert place_tags([(10, 10, 30, 30), (31, 10, 50, 30)], (100, 100)) is None


def test_a_box_that_fills_the_picture_has_no_room_for_a_tag():
    assert place_tags([(0, 0, 80, 64)], (64, 80)) is None
    with pytest.raises(ValueError, match="two ways"):
        draw_boxes(np.zeros((64, 80), np.uint8), [(0, 0, 80, 64)])


def test_tags_grow_with_the_picture():
    assert tag_size((100, 100)) == (7, 9)
    assert tag_size((480, 960)) == (28, 36)


@given(
    size=st.integers(1, 3),
    side=st.sampled_from([64, 256, 1024]),
    places=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=4),
)
def test_neither_frame_nor_number_covers_a_pixel_of_the_smallest_boxes(size, side, places):
    corners = [(int(x * (side - size)), int(y * (side - size))) for x, y in places]
    boxes = [(x, y, x + size, y + size) for x, y in corners]
    if place_tags(boxes, (side, side)) is None:
        return
    canvas = draw_boxes(np.full((side, side), 77, np.uint8), boxes)
    for x0, y0, x1, y1 in boxes:
        assert (canvas[y0:y1, x0:x1] == 77).all()
