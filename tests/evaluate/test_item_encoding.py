"""Text over which the digest of a benchmark is computed."""

import json

from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.benchmark_item import BenchmarkItem, item_to_json
from medrcube.evaluate.item_encoding import encode_item
from medrcube.taxonomy import Anatomy, Modality, Task

TEXTS = st.text(max_size=9)
ITEMS = st.builds(
    BenchmarkItem,
    id=TEXTS,
    dataset=TEXTS,
    question=TEXTS,
    options=st.lists(st.tuples(st.sampled_from("ABCD"), TEXTS), max_size=4).map(tuple),
    key=st.sampled_from("ABCD"),
    task=st.sampled_from(list(Task)),
    modality=st.sampled_from(list(Modality)),
    parts=st.sampled_from(list(Anatomy)),
    image=TEXTS | st.none(),
    original_task=TEXTS | st.none(),
    restricted=st.booleans(),
    target=st.none(),
    stated_chance=st.sampled_from([None, None, 0.25]),
    visible=st.sampled_from(["", "yes"]),
    block=TEXTS,
    unit=TEXTS,
    fact=TEXTS,
    set=TEXTS,
    role=TEXTS,
    set_size=st.integers(0, 4),
)
PICTURES = st.dictionaries(
    st.sampled_from(["image_sha256", "pixel_sha256"]), TEXTS | st.none(), min_size=1, max_size=1
)


@given(item=ITEMS, picture=PICTURES)
def test_an_item_is_encoded_as_json_with_sorted_keys(item, picture):
    row = {**item_to_json(item), **picture}
    for name in ("unit", "fact", "set", "role", "set_size"):
        row.pop(name, None)
    assert encode_item(item, picture) == json.dumps(row, sort_keys=True)
