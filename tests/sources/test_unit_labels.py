"""Images of one unit whose labels differ leave open what differs, and nothing else."""

from pathlib import Path

import pytest

from medrcube.facts import Case, ImageRef, Label, LabelState
from medrcube.sources._framework.unit_labels import UnitLabels
from medrcube.sources.registry import find_sources

PRESENT, ABSENT, UNKNOWN = LabelState.PRESENT, LabelState.ABSENT, LabelState.UNKNOWN
SOURCES = find_sources()


def _settled(source, *films, units=None):
    units = units or ["u"] * len(films)
    cases = [
        Case(
            key=str(number),
            images=(ImageRef(paths=(Path(f"{number}.png"),)),),
            unit=unit,
            labels=tuple(
                Label(field=field, value=value, state=state, evidence="t:1")
                for field, value, state in film
            ),
        )
        for number, (film, unit) in enumerate(zip(films, units, strict=True))
    ]
    labels = UnitLabels(SOURCES[source].card)
    assert list(labels.watch(cases)) == cases
    return [labels.settle(case) for case in cases]


def _states(case):
    return {label.value: label.state for label in case.labels}


def test_what_one_image_states_and_another_does_not_is_unknown_on_both():
    edema, effusion = ("finding", "Edema", PRESENT), ("finding", "Pleural Effusion", PRESENT)
    for case in _settled("chexpert", [edema, effusion], [effusion]):
        assert _states(case) == {"Edema": UNKNOWN, "Pleural Effusion": PRESENT}
        assert case.remarks


def test_what_implies_a_disputed_concept_is_unknown_and_so_is_what_excludes_it():
    edema, opacity = ("finding", "Edema", PRESENT), ("finding", "Lung Opacity", PRESENT)
    first, _ = _settled("chexpert", [edema, opacity], [edema, (*opacity[:2], ABSENT)])
    assert _states(first) == {"Edema": UNKNOWN, "Lung Opacity": UNKNOWN}
    none = ("finding", "No Finding", PRESENT)
    first, _ = _settled("chexpert", [none], [none, edema])
    assert _states(first) == {"Edema": UNKNOWN, "No Finding": UNKNOWN}


def test_what_all_images_deny_is_absent_beside_a_disputed_concept():
    none, fracture = ("finding", "No Finding", PRESENT), ("finding", "Fracture", ABSENT)
    first, _ = _settled("chexpert", [none, fracture], [(*none[:2], ABSENT), fracture])
    assert _states(first) == {"No Finding": UNKNOWN, "Fracture": ABSENT}


@pytest.mark.parametrize("state", [PRESENT, UNKNOWN])
def test_two_values_of_a_group_are_both_unknown(state):
    films = [("birads", "BI-RADS 1", PRESENT)], [("birads", "BI-RADS 5", state)]
    for case in _settled("vindr-mammo", *films):
        assert _states(case) == {"BI-RADS 1": UNKNOWN, "BI-RADS 5": UNKNOWN}


def test_a_value_that_one_image_leaves_open_is_no_second_value():
    films = [("birads", "BI-RADS 4", PRESENT)], [("birads", "BI-RADS 4", UNKNOWN)]
    first, second = _settled("vindr-mammo", *films)
    assert _states(first) == {"BI-RADS 4": PRESENT}
    assert _states(second) == {"BI-RADS 4": UNKNOWN}
    assert not first.remarks


def test_a_third_image_is_compared_with_both():
    films = [], [("birads", "BI-RADS 4", UNKNOWN)], [("birads", "BI-RADS 5", PRESENT)]
    assert all(set(_states(case).values()) == {UNKNOWN} for case in _settled("vindr-mammo", *films))


def test_a_value_without_a_concept_is_another_value():
    cancer = ("histology", "mucinous carcinoma", PRESENT)
    first, _ = _settled("bus-bra", [("histology", "fibroadenoma", PRESENT)], [cancer])
    assert _states(first)["fibroadenoma"] is UNKNOWN


def test_other_units_images_without_a_unit_and_other_fields_are_left_alone():
    edema, none = ("finding", "Edema", PRESENT), ("finding", "No Finding", PRESENT)
    for units in (["u", "v"], [None, None]):
        first, _ = _settled("chexpert", [edema], [none], units=units)
        assert _states(first) == {"Edema": PRESENT}
    first, _ = _settled("chexpert", [("view", "AP", PRESENT)], [("view", "lateral", PRESENT)])
    assert _states(first) == {"AP": PRESENT}
