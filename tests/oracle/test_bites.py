"""The oracle finds what is wrong when something is: items and raw labels with one change each."""

from dataclasses import replace
from itertools import permutations

import pytest

from medrcube.fact_kind import FactKind
from medrcube.facts import LabelState, Scope
from medrcube.sources._framework.card_parts.quirks import Quirk

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
MEDICAL = {FactKind("finding"), FactKind("disease")}


@pytest.fixture
def oracle(demo):
    """An oracle whose view of the raw data a test may change."""
    return demo["whole"].oracle.fresh()


@pytest.fixture
def items(demo):
    return demo["whole"].items


def with_option(oracle, item, concept):
    """The item with its first wrong option swapped for another concept."""
    options = list(item.options)
    at = 1 if item.key == 0 else 0
    name, ids = oracle.tables.names[concept], ()
    options[at] = replace(options[at], concept=concept, text=name, ids=ids)
    return replace(item, options=tuple(options))


def rules(oracle, item):
    """Rules that the oracle calls broken."""
    return {finding.rule for finding in oracle.examine(item)}


def first_swap(oracle, items, choose):
    """The first sound item on a finding or disease with a concept that ``choose`` gives for it."""
    for item in items:
        if item.task not in {"Abnormality Diagnosis", "Disease Diagnosis"}:
            continue
        picture = oracle.picture(oracle.samples[item.sample])
        stood = {option.concept for option in item.options}
        for concept in choose(picture, item):
            if concept in oracle.tables.names and concept not in stood and not rules(oracle, item):
                return with_option(oracle, item, concept), concept
    raise AssertionError("no item of the demo can be changed so")


def medical(picture, *states):
    """Statements on findings and diseases."""
    return [
        fact
        for fact in picture.having(*states)
        if fact.field and picture.card.fields[fact.field].kind in MEDICAL
    ]


def test_an_option_that_is_true_as_well_is_found(oracle, items):
    variant, concept = first_swap(
        oracle,
        items,
        lambda picture, _: [fact.concept for fact in medical(picture, LabelState.PRESENT)],
    )
    assert "true" in rules(oracle, variant), concept


def test_an_option_that_the_key_implies_is_found(oracle, items):
    def implied(picture, item):
        stated = {fact.concept for fact in picture.having(LabelState.PRESENT)}
        return sorted(oracle.tables.above(item.concept) - stated)

    variant, concept = first_swap(oracle, items, implied)
    assert "implied" in rules(oracle, variant), concept


def test_an_option_that_another_true_finding_implies_is_found(oracle, items):
    def implied(picture, item):
        stated = {fact.concept for fact in picture.having(LabelState.PRESENT)}
        others = [
            fact for fact in medical(picture, LabelState.PRESENT) if fact.concept != item.concept
        ]
        higher = {name for other in others for name in oracle.tables.above(other.concept)}
        return sorted(higher - stated - oracle.tables.above(item.concept))

    variant, concept = first_swap(oracle, items, implied)
    assert "implied" in rules(oracle, variant), concept


def test_an_option_that_is_left_open_is_found(oracle, items):
    def unknown(picture, _):
        true = {
            name
            for fact in picture.having(LabelState.PRESENT)
            for name in oracle.tables.above(fact.concept)
        }
        return [
            fact.concept
            for fact in medical(picture, LabelState.UNKNOWN)
            if fact.concept not in true
        ]

    variant, concept = first_swap(oracle, items, unknown)
    assert "unknown" in rules(oracle, variant), concept


@pytest.mark.parametrize("concept", ["scoliosis", "hiatal hernia", "bronchiectasis"])
def test_an_option_of_which_nothing_is_said_is_found(oracle, items, concept):
    variant, _ = first_swap(
        oracle, items, lambda _, item: [concept] * (item.source == "mimic-cxr-jpg")
    )
    assert rules(oracle, variant) == {"silent"}


def test_an_option_that_implies_something_true_is_found(oracle, items):
    def lower(picture, item):
        concepts = {fact.concept for fact in picture.statements}
        same = oracle.tables.above(item.concept)
        up = oracle.tables.up.items()
        below = [value for value, above in up if item.concept in above and value not in same]
        return sorted(set(below) - concepts) * (not picture.card.fields[item.field].group)

    variant, concept = first_swap(oracle, items, lower)
    assert {"downward", "both true"} <= rules(oracle, variant), concept


def test_a_look_alike_of_something_true_is_found(oracle, items):
    def alike(picture, item):
        concepts = {fact.concept for fact in picture.statements}
        true = {fact.concept for fact in medical(picture, LabelState.PRESENT)}
        near = {name for pair in oracle.tables.alike if pair & true for name in pair}
        near = {name for name in near - concepts if not oracle.tables.above(name) & true}
        return sorted(near) * (not picture.card.fields[item.field].group)

    variant, concept = first_swap(oracle, items, alike)
    assert rules(oracle, variant) == {"look-alike"}, concept


@pytest.mark.parametrize("concept", ["Other lesion", "Pleural Other"])
def test_a_rest_class_is_found(oracle, items, concept):
    variant, _ = first_swap(
        oracle, items, lambda picture, _: [concept] * (picture.anatomy == "Chest")
    )
    assert rules(oracle, variant) & {"rest", "silent", "look-alike"}


def test_what_such_a_picture_cannot_show_is_found(oracle, items):
    variant, _ = first_swap(
        oracle, items, lambda picture, _: ["Alzheimer disease"] * (picture.anatomy == "Brain")
    )
    assert "hidden" in rules(oracle, variant)


def test_an_organ_that_the_picture_shows_beside_is_found(oracle, items):
    results = [
        rules(oracle, with_option(oracle, item, "lung"))
        for item in items
        if item.field == "organ" and (item.anatomy, item.modality) == ("Breast", "Ultrasound")
    ]
    assert results
    assert all(result == {"shown"} for result in results)


def test_the_same_concept_under_two_names_is_found(oracle, items):
    tables = oracle.tables
    twins = {
        first: second
        for first, second in permutations(tables.names, 2)
        if first in tables.above(second) and second in tables.above(first)
    }
    item = next(
        candidate
        for candidate in items
        if len(candidate.options) > 2
        and candidate.options[candidate.key].concept in twins
        and not rules(oracle, candidate)
    )
    twin = twins[item.options[item.key].concept]
    assert "duplicate" in rules(oracle, with_option(oracle, item, twin))


def test_a_text_twice_is_found(oracle, items):
    item = items[0]
    first, second, *rest = item.options
    options = (first, replace(second, text=first.text.upper()), *rest)
    assert "duplicate" in rules(oracle, replace(item, options=options))


def test_a_text_that_is_not_that_of_its_concept_is_found(oracle, items):
    item = next(candidate for candidate in items if candidate.field == "finding")
    options = tuple(replace(option, text=option.text + " left") for option in item.options)
    assert "text" in rules(oracle, replace(item, options=options))


@pytest.mark.parametrize("task", ["Modality Recognition", "View Recognition", "Severity Grading"])
def test_a_moved_key_is_found(oracle, items, task):
    item = next(candidate for candidate in items if candidate.task == task)
    key = (item.key + 1) % len(item.options)
    assert "key" in rules(oracle, replace(item, key=key))
    # Also when the whole item has been made to fit.
    options = [replace(option, strategy="predefined") for option in item.options]
    options[key] = replace(options[key], strategy="key")
    concept = options[key].concept
    variant = replace(item, key=key, options=tuple(options), concept=concept)
    assert {"key", "true"} <= rules(oracle, variant)


def test_a_moved_box_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.task == "ROI Grounding" and not rules(oracle, candidate)
    )
    key = (item.key + 1) % len(item.options)
    options = [replace(option, strategy="box") for option in item.options]
    options[key] = replace(options[key], strategy="key")
    assert "key" in rules(oracle, replace(item, key=key, options=tuple(options)))
    sample = oracle.samples[item.sample]
    oracle.samples[item.sample] = replace(sample, truth=str(key + 1))
    assert "box" in rules(oracle, replace(item, key=key, options=tuple(options)))


def test_boxes_that_are_not_where_the_recipe_says_are_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.task == "ROI Grounding" and not rules(oracle, candidate)
    )
    moved = [(x0 + 9, y0 + 9, x1 + 9, y1 + 9) for x0, y0, x1, y1 in oracle.boxes[item.sample]]
    oracle.boxes[item.sample] = moved
    assert "box" in rules(oracle, item)


def test_numbered_images_in_another_order_are_found(oracle, items):
    item = next(
        candidate for candidate in items if oracle.samples[candidate.sample].artefact == "numbered"
    )
    assert rules(oracle, item) == set()
    oracle.orders[item.sample] = oracle.orders[item.sample][::-1]
    assert rules(oracle, item) == {"key"}


def test_a_wrong_box_over_a_second_region_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.task == "ROI Grounding" and not rules(oracle, candidate)
    )
    marks = oracle._marks_of(oracle.samples[item.sample])
    (right,) = [region for region in marks.regions if region.concept == item.concept]
    x0, y0, x1, y1 = oracle.boxes[item.sample][item.key - 1]
    left, top, *_ = oracle.windows[item.sample]
    second = right.mask & False
    second[top + y0 : top + y1, left + x0 : left + x1] = True
    fields = oracle.witness(item.source).card.fields
    other = next(name for name in fields if name != item.field)
    marks.__dict__["regions"] = (*marks.regions, replace(right, field=other, mask=second))
    assert rules(oracle, item) == {"box"}


def test_a_question_for_another_target_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.task == "ROI Grounding" and not rules(oracle, candidate)
    )
    question = item.question.replace(oracle.tables.names[item.concept], "appendix")
    assert rules(oracle, replace(item, question=question)) == {"text"}


def test_a_whole_that_holds_the_outlined_part_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.field == "structure"
        and candidate.source == "acdc"
        and candidate.task == "Organ Recognition"
    )
    assert not rules(oracle, item)
    assert rules(oracle, with_option(oracle, item, "heart")) >= {"implied"}


def test_an_outline_of_something_else_is_found(oracle, items):
    pairs = permutations(
        [item for item in items if oracle.samples[item.sample].artefact == "outline"][:60], 2
    )
    first, second = next(
        (a, b)
        for a, b in pairs
        if (a.source, oracle.samples[a.sample].case) == (b.source, oracle.samples[b.sample].case)
        and a.concept != b.concept
    )
    stolen = replace(oracle.samples[first.sample], image=oracle.samples[second.sample].image)
    oracle.samples[first.sample] = stolen
    assert "mark" in rules(oracle, first)


def test_an_option_that_covers_the_outlined_part_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.source == "jsrt"
        and candidate.task == "Organ Recognition"
        and not rules(oracle, candidate)
    )
    marks = oracle._marks_of(oracle.samples[item.sample])
    (region,) = [entry for entry in marks.regions if entry.concept == item.concept]
    wrong = next(option.concept for n, option in enumerate(item.options) if n != item.key)
    marks.__dict__["regions"] = (*marks.regions, replace(region, concept=wrong))
    assert "covered" in rules(oracle, item)


def change_case(oracle, item, **changes):
    """Change what the raw data say of the case of an item."""
    witness = oracle.witness(item.source)
    case = witness.cases[oracle.samples[item.sample].case]
    witness.cases[case.key] = replace(case, **changes)
    oracle._marks[item.source].clear()
    return case


@pytest.mark.parametrize("state", [LabelState.UNKNOWN, LabelState.ABSENT])
def test_an_item_from_a_label_that_is_not_present_is_found(oracle, items, state):
    item = next(
        candidate
        for candidate in items
        if candidate.field == "subtype" and not rules(oracle, candidate)
    )
    case = change_case(oracle, item)
    labels = tuple(
        replace(label, state=state) if label.state is LabelState.PRESENT else label
        for label in case.labels
    )
    change_case(oracle, item, labels=labels)
    assert "key" in rules(oracle, item)


def test_an_option_whose_denial_is_taken_back_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.source == "mimic-cxr-jpg" and candidate.field == "finding"
    )
    case = change_case(oracle, item)
    labels = tuple(label for label in case.labels if label.state is not LabelState.ABSENT)
    change_case(oracle, item, labels=labels)
    assert rules(oracle, item) & {"silent", "downward", "look-alike"}


def test_a_fact_wider_than_the_picture_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.scope == "patient" and not rules(oracle, candidate)
    )
    change_case(oracle, item, shows=Scope.SLICE)
    assert rules(oracle, item) == {"level"}


def test_a_question_that_does_not_name_its_subject_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.scope == "patient" and not rules(oracle, candidate)
    )
    question = item.question.replace("patient", "picture")
    assert rules(oracle, replace(item, question=question)) == {"level"}


def test_a_lesion_that_the_shown_slice_lacks_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if (candidate.source, candidate.concept, candidate.field)
        == ("isles2022", "acute infarct", "infarct")
        and not rules(oracle, candidate)
    )
    sample = oracle.samples[item.sample]
    oracle.samples[item.sample] = replace(sample, frames="0")
    assert "key" in rules(oracle, item)


def test_sides_that_are_swapped_are_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.source == "montgomery-tb"
        and candidate.field == "side"
        and not rules(oracle, candidate)
        and len(oracle._marks_of(oracle.samples[candidate.sample]).regions) == 2
    )
    case = change_case(oracle, item)
    other = {"leftMask": "rightMask", "rightMask": "leftMask"}
    regions = tuple(
        replace(region, value=other[region.value]) if region.field == "side" else region
        for region in case.regions
    )
    change_case(oracle, item, regions=regions)
    assert "side" in rules(oracle, item)


def test_a_finding_that_no_finding_contradicts_is_found(oracle, items):
    item = next(
        candidate
        for candidate in items
        if candidate.source == "mimic-cxr-jpg"
        and candidate.concept == "Cardiomegaly"
        and not rules(oracle, candidate)
    )
    case = change_case(oracle, item)
    labels = tuple(
        replace(label, state=LabelState.PRESENT) if label.value == "No Finding" else label
        for label in case.labels
    )
    change_case(oracle, item, labels=labels)
    assert "key" in rules(oracle, item)


@pytest.mark.parametrize("action", ["drop", "undiagnosed"])
def test_a_case_that_the_card_bars_is_found(oracle, items, action):
    item = next(
        candidate
        for candidate in items
        if candidate.field == "subtype" and not rules(oracle, candidate)
    )
    witness = oracle.witness(item.source)
    key = oracle.samples[item.sample].case
    quirk = Quirk(keys=(f"{key[:5]}*",), action=action, reason="a test", evidence="none")
    witness.card = replace(witness.card, quirks=(quirk,))
    assert rules(oracle, item) == {"barred"}
