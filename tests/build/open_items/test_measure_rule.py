"""What the rule of the tasks that ask a number asks of a case, and what it bars, on real cards."""

from dataclasses import fields, replace

import pytest

from medrcube.build.open_items.measure_rule import LOTS, REFORMATTED, size_lot
from medrcube.build.open_items.question import CaseView
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.plan import Artefact, artefacts_of
from medrcube.build.stages.samples import Sample
from medrcube.facts import (
    Case,
    Grade,
    ImageRef,
    Label,
    MaskFile,
    Quantity,
    Region,
    Scope,
    Visibility,
)
from medrcube.forms import form_of
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card_parts.geometry import GeometryTrust
from medrcube.sources._framework.card_parts.measures import Measure, Tolerance
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

BLANK = {"str": "", "int": 0, "float": 0.0, "bool": False}


def blank_of(record, **columns):
    blanks = {column.name: BLANK.get(str(column.type), "") for column in fields(record)}
    return record(**{**blanks, **columns})


def sample_of(artefact="clean", **columns):
    return blank_of(
        Sample,
        **{
            "id": artefact,
            "artefact": artefact,
            "area": 0.01,
            "regions": 1,
            "width": 512,
            "height": 512,
            "scope": "image",
            "frames": "0",
            **columns,
        },
    )


def row_of(**columns):
    return blank_of(
        Geometry,
        **{
            "sample": "clean",
            "shape": "area",
            "pieces": 1,
            "width": 512,
            "height": 512,
            "mm_per_pixel": 0.7,
            "scale": "object",
            **columns,
        },
    )


def ask(task, source, case, samples, rows):
    card = find_sources()[source].card
    view = CaseView(
        task=Task(task),
        card=card,
        case=case,
        facts=facts_of_case(card, case, load_terms()),
        samples=tuple(samples),
        geometry=tuple(rows),
        terms=load_terms(),
        relations=load_relations(),
    )
    return list(open_questions(view))


def case_of(key="a", **columns):
    return Case(key=key, images=(ImageRef(paths=()),), **columns)


NODULE = "lung nodule >= 3 mm"
BAR = {"field": "nodule", "marked": NODULE, "height": 530}


def ask_nodule(*, sample=None, rows=None, case=None, **columns):
    row = row_of(**{"field": "nodule", "concept": NODULE, "longest": 20.0, **columns})
    samples = [sample_of(), sample_of("scale-bar", **{**BAR, **(sample or {})})]
    replies = ask("Longest Diameter", "lidc-idri", case or case_of(), samples, rows or [row])
    assert {question.sample.artefact for question in replies} == {"scale-bar"}
    return replies


def test_a_diameter_is_asked_in_mm_beside_the_bar_that_is_drawn():
    [question] = ask_nodule(readings="18 24")
    assert question.bar_reason == ""
    assert question.values == {"bar": "50 mm"}
    assert question.target.ask.unit == "mm"
    assert question.target.value == 14.0
    assert (question.target.low, question.target.high) == (10.5, 20.16)
    assert (question.grade, question.concept) == (Grade.A, NODULE)
    assert question.prior == ("lidc-idri", "nodule_diameter", NODULE, "axial")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"cut": True}, "cut"),
        ({"partial": True}, "partial"),
        ({"pieces": 2}, "in-pieces"),
        ({"shape": "box"}, "box-drawn"),
        ({"scale": "projection"}, "no-scale"),
        ({"mm_per_pixel": None, "scale": ""}, "no-scale"),
        ({"longest": 4.0}, "implausible"),
        ({"longest": 90.0}, "implausible"),
    ],
)
def test_a_region_whose_extent_is_not_that_of_the_thing_is_not_asked(columns, reason):
    [question] = ask_nodule(**columns)
    assert question.bar_reason == reason


@pytest.mark.parametrize(
    ("plane", "reason"),
    [(None, ""), ("axial", ""), ("coronal", REFORMATTED), ("sagittal", REFORMATTED)],
)
def test_a_length_is_asked_in_the_plane_of_acquisition_alone(plane, reason):
    [question] = ask_nodule(case=case_of(plane=plane))
    assert question.bar_reason == reason


def test_of_several_regions_of_one_name_none_is_asked():
    row = row_of(field="nodule", concept=NODULE, longest=20.0)
    [question] = ask_nodule(rows=[row, replace(row, region=1)])
    assert question.bar_reason == "several-regions"


def test_a_region_on_another_slice_is_none_of_this_image():
    row = row_of(field="nodule", concept=NODULE, longest=20.0, sample="of another slice")
    [question] = ask_nodule(rows=[row])
    assert question.bar_reason == "regions-missing"


@pytest.mark.parametrize("graphics", ["caliper:on", "text:apart", "arrow:near"])
def test_a_mark_or_a_word_in_the_image_bars_a_length(graphics):
    [question] = ask_nodule(sample={"graphics": graphics})
    assert question.bar_reason == "burnt-in"


def test_a_number_of_the_source_goes_before_the_measured_one_and_both_pass():
    stated = Quantity(field="nodule_diameter", value=15.0, unit="mm", evidence="a row")
    [question] = ask_nodule(case=case_of(quantities=(stated,)))
    assert (question.bar_reason, question.target.value) == ("", 15.0)
    assert question.target.low < 14 / 1.19
    [question] = ask_nodule(case=case_of(quantities=(replace(stated, value=28.0),)))
    assert question.bar_reason == "stated-otherwise"


def test_a_bar_is_named_by_the_width_of_the_image_and_never_by_the_region():
    bars = {ask_nodule(longest=longest)[0].values["bar"] for longest in (6.0, 20.0, 60.0)}
    assert bars == {"50 mm"}
    [question] = ask_nodule(mm_per_pixel=0.2)
    assert question.values == {"bar": "20 mm"}


@pytest.mark.parametrize(
    ("examination", "visible"), [("010_HC", Visibility.NO), ("155_HC", Visibility.YES)]
)
def test_a_structure_that_an_image_does_not_show_is_not_measured_on_it(examination, visible):
    """The outline of an early fetus may be its head or its trunk."""
    head = {"field": "head", "marked": "fetal head", "height": 530}
    row = row_of(field="head", concept="fetal head", circumference=200.0)
    case = case_of(f"training_set/{examination}")
    samples = [sample_of(), sample_of("scale-bar", **head)]
    [question] = ask("Head Circumference", "hc18", case, samples, [row])
    assert question.visible is visible


def test_the_source_must_trust_its_spacing_for_an_image_with_a_bar():
    card = find_sources()["lidc-idri"].card
    region = Region(field="nodule", value="nodule", shape=MaskFile(paths=()), evidence="a row")
    scale_bar = Artefact(kind="scale-bar", field="nodule", concept=NODULE)
    assert scale_bar in artefacts_of(card, case_of(regions=(region,)))
    for scale in ("projection", "unknown"):
        doubted = replace(card, geometry=GeometryTrust(scale=scale))
        assert scale_bar not in artefacts_of(doubted, case_of(regions=(region,)))
    unasked = replace(card, measures={})
    assert scale_bar not in artefacts_of(unasked, case_of(regions=(region,)))


HEART = {"field": "structure", "concept": "heart", "x0": 200, "x1": 380}
LUNGS = (
    {"field": "structure", "concept": "right lung", "x0": 60, "x1": 240},
    {"field": "structure", "concept": "left lung", "x0": 270, "x1": 460},
)


def ask_ratio(*regions):
    rows = [row_of(**{"mm_per_pixel": None, "scale": "", **region}) for region in regions]
    return ask("Cardiothoracic Ratio", "jsrt", case_of(), [sample_of()], rows)


def test_the_ratio_is_the_width_of_the_heart_over_that_of_both_lungs():
    [question] = ask_ratio(HEART, *LUNGS)
    assert (question.bar_reason, question.concept) == ("", "heart")
    assert question.target.ask.unit == ""
    assert question.target.value == 0.45
    assert (question.target.low, question.target.high) == (0.43, 0.47)
    score = form_of(question.target).score
    assert score(0.46, question.target).passed
    assert not score(0.48, question.target).passed


@pytest.mark.parametrize(
    ("regions", "reason"),
    [
        ((HEART, LUNGS[0]), "regions-missing"),
        ((HEART, HEART, *LUNGS), "regions-missing"),
        ((HEART, {**LUNGS[0], "cut": True}, LUNGS[1]), "cut"),
        (({**HEART, "x0": 100, "x1": 440}, *LUNGS), "implausible"),
    ],
)
def test_a_ratio_needs_every_region_once_and_whole(regions, reason):
    [question] = ask_ratio(*regions)
    assert question.bar_reason == reason


def ask_fraction(value=47.3, panels=("ED", "ES"), scope="patient"):
    case = case_of(
        quantities=(Quantity(field="left_ejection_fraction", value=value, unit="%", evidence="r"),),
        panels=tuple(Label(field="phase", value=panel, evidence="r") for panel in panels),
        shows=Scope.PATIENT,
    )
    samples = [
        sample_of(scope=scope),
        sample_of("numbered", field="phase", marked="end-systole", scope=scope, frames="0+9"),
    ]
    return ask("Ejection Fraction", "echonet-dynamic", case, samples, [])


def test_an_ejection_fraction_is_asked_where_both_phases_stand_side_by_side():
    [question] = ask_fraction()
    assert (question.bar_reason, question.sample.artefact) == ("", "numbered")
    assert question.target.ask.unit == "%"
    assert (question.target.low, question.target.value, question.target.high) == (39.3, 47.3, 55.3)


@pytest.mark.parametrize(
    "columns", [{"panels": ("ED",)}, {"panels": ()}, {"panels": ("ED", "ED")}, {"scope": "image"}]
)
def test_one_phase_does_not_show_an_ejection_fraction(columns):
    [question] = ask_fraction(**columns)
    assert question.bar_reason == "scope"


def test_a_case_without_a_stated_number_is_not_asked():
    samples = [sample_of("numbered", field="phase", marked="end-systole", scope="patient")]
    assert ask("Ejection Fraction", "echonet-dynamic", case_of(), samples, []) == []


def measure_of(low, high):
    return Measure(
        name="any", unit="mm", of="", scope=Scope.IMAGE, low=low, high=high, basis=None, reasons={}
    )


def test_classes_of_size_are_even_in_the_logarithm_of_a_share():
    lots = [
        size_lot(measure_of(2, 512), Tolerance(share=0.2), 3.0 * 2**power) for power in range(9)
    ]
    assert lots == ["0", "1", "2", "3", "4", "5", "6", "7", "7"]


def test_classes_of_size_are_even_in_the_value_of_points():
    lots = [size_lot(measure_of(0, 80), Tolerance(points=8), value) for value in range(5, 95, 10)]
    assert lots == [*map(str, range(LOTS)), "7"]
