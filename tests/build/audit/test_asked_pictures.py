"""An audit of the images around its items says what an audit of all images says."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.audit.asked_pictures import picture_totals, related_pictures
from medrcube.build.audit.leakage.leakage_tests import groups_of
from medrcube.build.stages.samples import SAMPLES, Sample

BLANK = {
    name: {"str": "", "int": 0, "float": 0.0, "bool": False}[field.type]
    for name, field in Sample.__dataclass_fields__.items()
}
ROWS = st.lists(
    st.tuples(*(st.sampled_from(texts) for texts in ("ab", "cdef", ["", "p", "q"], "wxyz"))),
    max_size=12,
)


def _samples(rows):
    return [
        Sample(
            **{
                **BLANK,
                "id": f"s{number}",
                "source": source,
                "case": case,
                "patient": patient,
                "pixel_sha256": pixels,
                "artefact": "clean",
            }
        )
        for number, (source, case, patient, pixels) in enumerate(rows)
    ]


@given(ROWS, st.sets(st.integers(0, 11)))
def test_items_have_the_groups_that_all_images_give(rows, item_numbers):
    samples = _samples(rows)
    items = [
        SimpleNamespace(id=f"i{n}", sample=f"s{n}") for n in sorted(item_numbers) if n < len(rows)
    ]
    table = SAMPLES.table(samples)
    near = related_pictures(table, {item.sample for item in items})
    assert groups_of(items, near) == groups_of(items, samples)


@given(ROWS)
def test_patients_and_repeated_images_are_counted_over_all(rows):
    samples = _samples(rows)
    totals = picture_totals(SAMPLES.table(samples))
    pixels = [sample.pixel_sha256 for sample in samples]
    assert totals.pictures == len(samples)
    assert totals.patients == len({(s.source, s.patient) for s in samples if s.patient})
    assert list(totals.repeated) == [s for s in samples if pixels.count(s.pixel_sha256) > 1]
