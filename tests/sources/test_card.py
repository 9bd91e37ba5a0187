import re

import pytest

from medrcube.errors import CardError
from medrcube.fact_kind import FactKind
from medrcube.facts import Absence, Basis, Grade, Quantity, Scope, Visibility
from medrcube.sources._framework.card import load_card
from medrcube.taxonomy import Task

FIELD = """
[[field]]
name = "finding"
kind = "finding"
absence = "silent"
values = { Edema = "Edema", todo = "" }
"""


@pytest.fixture
def card_file(tmp_path, toy_card, reasoned):
    def write(text=toy_card, edit=lambda text: text):
        path = tmp_path / "card.toml"
        path.write_text(edit(reasoned(text)))
        return path

    return write


def test_a_minimal_card_has_the_documented_defaults(card_file):
    card = load_card(card_file())
    assert (card.id, card.shows, card.pixels.window) == ("toy", Scope.IMAGE, "none")
    assert (card.pixels.slice, card.pixels.orient) == ("middle", "affine")


def test_a_field_maps_raw_values_to_concepts(card_file, toy_card):
    field = load_card(card_file(toy_card + FIELD)).fields["finding"]
    assert (field.kind, field.absence) == (FactKind("finding"), Absence.SILENT)
    assert field.stated is Grade.C
    assert field.concept("Edema") == "Edema"
    assert field.concept("todo") is None
    assert field.concepts() == ("Edema",)
    with pytest.raises(KeyError):
        field.concept("Oedema")


def test_values_that_are_concepts_need_no_map(card_file, toy_card):
    text = FIELD.replace("values = {", 'same = ["Pneumonia"]\nvalues = {')
    field = load_card(card_file(toy_card + text)).fields["finding"]
    assert field.concept("Pneumonia") == "Pneumonia"
    assert field.concepts() == ("Pneumonia", "Edema")


def test_a_field_says_what_its_truth_rests_on_who_sees_it_and_why(card_file, toy_card):
    reasons = """basis = "laboratory"
visible = "partly"
[field.reasons]
basis = { reason = "A swab decided.", evidence = "https://example.org/swab" }
visible = { reason = "Some films are normal.", evidence = "Radiology 2020;295:715" }
"""
    field = load_card(card_file(toy_card + FIELD + reasons)).fields["finding"]
    assert (field.basis, field.visible) == (Basis.LABORATORY, Visibility.PARTLY)
    assert field.reasons["basis"].reason == "A swab decided."
    assert field.reasons["visible"].evidence == "Radiology 2020;295:715"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"image"', '"biopsy"', r"'field\[0\].basis': expected one of image, study, laboratory"),
        ('"yes"', '"maybe"', r"'field\[0\].visible': expected one of no, partly, yes"),
        (', evidence = "tests"', "", r"'field\[0\].reasons.basis.evidence' is missing"),
        ("absence = {", "absense = {", r"unknown key 'field\[0\].reasons.absense'.*'absence'"),
    ],
)
def test_a_mistake_about_the_truth_of_a_field_is_named(card_file, toy_card, old, new, says):
    path = card_file(toy_card + FIELD, lambda text: text.replace(old, new, 1))
    with pytest.raises(CardError, match=says):
        load_card(path)


def test_all_that_fields_do_not_say_of_their_truth_is_named_at_once(card_file, toy_card):
    view = FIELD.replace("finding", "view").replace('"silent"', '"reader"')
    bare = toy_card + FIELD + view
    with pytest.raises(CardError) as excinfo:
        load_card(card_file(bare, lambda _: bare))
    why = '{ reason = "one sentence", evidence = "URL, DOI or title" }'
    basis = '"image" | "study" | "laboratory" | "histology" | "follow-up" | "record"'
    common = [
        f"    basis = {basis}",
        '    visible = "yes" | "partly" | "no"',
        f"    reasons.basis = {why}",
        f"    reasons.visible = {why}",
    ]
    assert str(excinfo.value).splitlines()[1:] == [
        '  to the [[field]] named "finding":',
        *common,
        '  to the [[field]] named "view":',
        *common,
        f"    reasons.absence = {why}",
    ]


QUIRK = """
[[quirk]]
keys = ["case-7"]
action = "unseen"
fields = ["finding"]
reason = "The slice misses the lesion."
evidence = "https://example.org"
"""


def test_a_quirk_names_the_fields_that_its_pictures_do_not_show(card_file, toy_card):
    (quirk,) = load_card(card_file(toy_card + FIELD + QUIRK)).quirks
    assert (quirk.action, quirk.fields) == ("unseen", ("finding",))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["finding"]', "[]", "expected the fields that the images do not show"),
        ('["finding"]', '["findings"]', r"expected names of \[\[field\]\] tables \(finding\)"),
        ('"unseen"', '"drop"', "only 'unseen' and 'note' have"),
    ],
)
def test_a_quirk_that_hides_no_known_field_is_refused(card_file, toy_card, old, new, says):
    with pytest.raises(CardError, match=says):
        load_card(card_file(toy_card + FIELD + QUIRK.replace(old, new)))


def test_bands_are_closed_below_and_open_above(card_file, toy_card):
    bands = """
[[field]]
name = "ef"
kind = "severity"
absence = "reader"
bands = [
  { from = -inf, to = 30, concept = "low" },
  { from = 30, to = inf, concept = "high" },
]
"""
    field = load_card(card_file(toy_card + bands)).fields["ef"]
    assert [field.concept(raw) for raw in ("29.9", "30", "70")] == ["low", "high", "high"]


def test_pictures_are_passed_on_only_with_what_the_owner_says(card_file, toy_card):
    basis = next(line for line in toy_card.splitlines() if line.startswith("basis"))
    with pytest.raises(CardError, match=r"'access\.redistribute': expected false, or a basis"):
        load_card(card_file(toy_card.replace(basis, "")))
    card = load_card(card_file(toy_card))
    assert card.access.passed_on == "yes"
    assert card.access.describe() == "CC BY 4.0 (see https://example.org/toy)."
    withheld = toy_card.replace("redistribute = true", "redistribute = false")
    assert load_card(card_file(withheld)).access.passed_on == "no"


def test_what_nobody_has_seen_is_not_called_terms(card_file, toy_card):
    basis = next(line for line in toy_card.splitlines() if line.startswith("basis"))
    text = toy_card.replace("redistribute = true", "redistribute = false")
    access_text = load_card(
        card_file(text.replace(basis, 'unknown = "its terms"'))
    ).access.describe()
    assert access_text == (
        "No licence text or statement by the owner has been seen. Not known: its terms."
    )
    quoted = basis.replace(" }", ', read = "a loader" }')
    access_text = load_card(card_file(text.replace(basis, quoted))).access.describe()
    assert access_text == "CC BY 4.0 (quoted from https://example.org/toy by a loader)."


def test_rights_that_differ_by_row_are_neither_yes_nor_no(card_file, toy_card):
    rows = 'redistribute = false\nrows = "the column License"'
    card = load_card(card_file(toy_card.replace("redistribute = true", rows)))
    assert card.access.passed_on == "by row"
    assert "Rights differ by row: the column License." in card.access.describe()
    with pytest.raises(CardError, match=r"'access\.rows': expected redistribute = false"):
        load_card(card_file(toy_card.replace("redistribute = true", rows.replace("false", "true"))))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "A toy source"', 'titel = "A toy source"', "'title' is missing.*'titel'"),
        ('mode = "open"', 'mode = "opne"', "'access.mode': expected one of open, form"),
        ('anatomy = "Brain"', 'anatomy = "Brian"', "'case.anatomy': expected one of Brain"),
        ("images = 3", 'images = "3"', "'images': expected a whole number"),
        ("redistribute = true", 'redistribute = "yes"', "'access.redistribute': expected true"),
        ('id = "toy"', 'id = "Toy Source"', "'id': expected a string of the form"),
        ('expect = { "*.png" = 3 }', "expect = {}", r"'layout\[0\].expect': expected a table"),
        ('steps = ["Download it."]', "steps = []", "'access.steps': expected at least 1"),
        ('release = "1.0"', 'release = " "', "'release': expected a non-empty string"),
        ('patient = "unknown"', 'patient = "unknown"\nshow = "image"', "unknown key 'case.show'"),
        ('"Modality Recognition"', '"Modality Guessing"', "'case.tasks': expected one of"),
    ],
)
def test_a_mistake_is_named_by_file_key_and_expectation(card_file, toy_card, old, new, says):
    path = card_file(toy_card.replace(old, new))
    with pytest.raises(CardError, match=says) as excinfo:
        load_card(path)
    assert str(path) in str(excinfo.value)


def test_a_field_with_values_and_a_constant_is_refused(card_file, toy_card):
    with pytest.raises(CardError, match="exactly one of values"):
        load_card(card_file(toy_card + FIELD + 'constant = "Edema"\n'))


def test_two_fields_of_one_name_are_refused(card_file, toy_card):
    with pytest.raises(CardError, match="two named 'finding'"):
        load_card(card_file(toy_card + FIELD + FIELD))


@pytest.mark.parametrize("key", ["0.5", "L.1", "v1.2.3"])
def test_an_unquoted_key_with_a_dot_is_to_be_quoted(card_file, toy_card, key):
    unquoted = f'{FIELD.partition("values")[0]}[field.values]\n{key} = "Edema"\n'
    with pytest.raises(CardError, match=f'quote a key with a dot in it: "{re.escape(key)}" = '):
        load_card(card_file(toy_card + unquoted))


def test_broken_toml_and_a_missing_file_are_card_errors(card_file, tmp_path):
    with pytest.raises(CardError, match="is not valid TOML"):
        load_card(card_file("id = "))
    with pytest.raises(CardError, match=r"card\.toml: cannot be read"):
        load_card(tmp_path / "nowhere" / "card.toml")


def test_the_fingerprint_changes_with_a_fact_and_not_with_layout_of_the_text(card_file, toy_card):
    base = load_card(card_file()).fingerprint
    assert load_card(card_file("# a comment\n" + toy_card)).fingerprint == base
    assert load_card(card_file(toy_card.replace("images = 3", "images = 4"))).fingerprint != base


@pytest.mark.parametrize(
    ("action", "regions", "holds"),
    [("regions", 2, True), ("regions", 1, False), ("regions", 0, False), ("note", 2, False)],
)
def test_number_of_regions_belongs_to_the_quirk_that_counts_them(
    card_file, toy_card, action, regions, holds
):
    quirk = f"""
[[quirk]]
keys = ["case-7"]
action = "{action}"
regions = {regions}
reason = "r"
evidence = "e"
"""
    path = card_file(toy_card + FIELD + quirk)
    if holds:
        assert load_card(path).quirks[0].regions == regions
    else:
        with pytest.raises(CardError, match="two or more, only with the action 'regions'"):
            load_card(path)


PHASES = """
[[field]]
name = "phase"
kind = "protocol"
absence = "silent"
values = { ED = "end-diastole", ES = "end-systole" }
larger = { panel = "end-diastole", part = "LV", by = 0.05, reason = "full", evidence = "test" }
[[field]]
name = "structure"
kind = "structure"
absence = "silent"
values = { 1 = "LV" }
[[field]]
name = "ejection"
kind = "severity"
absence = "silent"
rests_on = "phase"
values = { low = "LVEF < 30" }
"""


def test_a_field_says_on_which_panel_a_part_is_largest_and_what_rests_on_that(card_file, toy_card):
    fields = load_card(card_file(toy_card + PHASES)).fields
    larger = fields["phase"].larger
    assert (larger.panel, larger.part, larger.by) == ("end-diastole", "LV", 0.05)
    assert fields["ejection"].rests_on == "phase"
    assert (fields["structure"].larger, fields["structure"].rests_on) == (None, "")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('rests_on = "phase"', 'rests_on = "structure"', "rests_on names a field with larger"),
        ('part = "LV"', 'part = "LA"', "larger.part is a concept"),
        ('panel = "end-diastole"', 'panel = "ED"', "panel"),
    ],
)
def test_panels_that_rest_on_nothing_are_refused(card_file, toy_card, old, new, says):
    with pytest.raises(CardError, match=says):
        load_card(card_file(toy_card + PHASES.replace(old, new)))


HOME = """
[home]
kind = "zenodo"
id = "123"
evidence = "https://zenodo.org/records/123"
[[home.file]]
name = "a.zip"
md5 = "0123456789abcdef0123456789abcdef"
into = "."
"""


def test_a_card_may_say_where_its_data_lie_and_its_fingerprint_stays(card_file, toy_card):
    home = load_card(card_file(toy_card + HOME)).home
    assert (home.kind, home.id, home.files[0].name) == ("zenodo", "123", "a.zip")
    moved = load_card(card_file(toy_card + HOME.replace("123", "124")))
    assert moved.home.id == "124"
    assert moved.fingerprint == load_card(card_file()).fingerprint
    assert load_card(card_file()).home is None


GEOMETRY = """
[geometry]
orientation = "proved"
scale = "object"
[geometry.reasons]
orientation = { reason = "Files state it.", evidence = "DICOM" }
scale = { reason = "It is CT.", evidence = "DICOM" }
"""


def test_a_card_says_whether_sides_and_millimetres_are_known_and_its_fingerprint_stays(
    card_file, toy_card
):
    silent, card = load_card(card_file()), load_card(card_file(toy_card + GEOMETRY))
    assert (silent.geometry.orientation, silent.geometry.scale) == ("unknown", "unknown")
    assert (card.geometry.orientation, card.geometry.scale) == ("proved", "object")
    assert card.geometry.reasons["scale"].reason == "It is CT."
    assert card.fingerprint == silent.fingerprint


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"proved"', '"sure"', "one of proved, stated, unknown"),
        ('"object"', '"mm"', "one of object, projection, unknown"),
        ('scale = { reason = "It is CT.", evidence = "DICOM" }', "", "reasons.scale"),
        ('"proved"', '"unknown"', "reasons.orientation"),
    ],
)
def test_a_claim_about_geometry_has_its_reason(card_file, toy_card, old, new, says):
    with pytest.raises(CardError, match=says):
        load_card(card_file(toy_card + GEOMETRY.replace(old, new, 1)))


MEASURE = """
[[field]]
name = "size"
kind = "measure"
unit = "mm"
of = "finding"
plausible = [3, 80]
basis = "study"
[field.reasons]
basis = { reason = "It was measured.", evidence = "a table" }
plausible = { reason = "None is larger.", evidence = "a table" }
"""


def test_a_field_may_be_a_number_with_a_unit(card_file, toy_card):
    card = load_card(card_file(toy_card + FIELD + MEASURE))
    assert "size" not in card.fields
    measure = card.measures["size"]
    assert (measure.unit, measure.of, measure.low, measure.high) == ("mm", "finding", 3, 80)
    assert (measure.scope, measure.basis) == (Scope.IMAGE, Basis.STUDY)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('unit = "mm"', 'unit = "inch"', "one of mm, mm2, ml, %, ratio"),
        ("[3, 80]", "[80, 3]", "least and the greatest"),
        ('of = "finding"', 'of = "fnding"', "name of a"),
        ('name = "size"', 'name = "finding"', "different names"),
        ('plausible = { reason = "None is larger.", evidence = "a table" }', "", "plausible"),
        ('unit = "mm"', 'unit = "mm"\nabsence = "silent"', "absence"),
    ],
)
def test_a_measure_states_unit_range_and_reasons(card_file, toy_card, old, new, says):
    with pytest.raises(CardError, match=says):
        load_card(card_file(toy_card + FIELD + MEASURE.replace(old, new, 1)))


TASK_MEASURE = (
    MEASURE.replace(
        'basis = "study"\n',
        """basis = "study"
from = "longest"
task = "Longest Diameter"
tolerance = { share = 0.2, grade = "B" }
visible = "yes"
""",
    )
    + """
tolerance = { reason = "Readers differ by as much.", evidence = "a paper" }
visible = { reason = "It is outlined.", evidence = "the image" }
"""
)


def test_a_measure_may_name_the_task_that_asks_it(card_file, toy_card):
    measure = load_card(card_file(toy_card + FIELD + TASK_MEASURE)).measures["size"]
    assert (measure.origin, measure.task_settings.task) == ("longest", Task("Longest Diameter"))
    assert measure.task_settings.tolerance.bounds(10, 12) == pytest.approx((8.333, 14.4), abs=0.001)
    assert (measure.task_settings.grade, measure.task_settings.visible) == (Grade.B, Visibility.YES)
    assert set(measure.reasons) == {"basis", "plausible", "tolerance", "visible"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"longest"', '"shortest"', "one of stated, longest, circumference, ratio"),
        ('"longest"', '"ratio"', '"ratio" of a ratio'),
        ('unit = "mm"\nof = "finding"', 'unit = "ratio"\nof = "finding"\npart = ["Heart"]', "mm"),
        ('"longest"', '"stated"', "about"),
        ('unit = "mm"', 'unit = "%"', '"mm" of a length'),
        ('of = "finding"\n', "", "the field of the regions that are measured"),
        ("share = 0.2", "share = 0.2, points = 3", "a share below 1, or points"),
        ("share = 0.2, ", "", "a share below 1, or points"),
        ("share = 0.2", "share = 20", "a share below 1, or points"),
        ('"Longest Diameter"', '"Longest"', "task"),
        ('grade = "B"', 'grade = "D"', "one of A, B, C"),
        ('visible = "yes"\n', "", "visible"),
        ('tolerance = { reason = "Readers differ by as much.", evidence = "a paper" }', "", "tol"),
        ('visible = "yes"', 'visible = "yes"\npanels = ["ED"]', "concepts of fields"),
        ('visible = "yes"', 'visible = "yes"\npart = ["Edema"]', "none, except with from"),
    ],
)
def test_what_a_measure_is_asked_by_is_checked(card_file, toy_card, old, new, says):
    assert old in TASK_MEASURE
    with pytest.raises(CardError, match=re.escape(says)):
        load_card(card_file(toy_card + FIELD + TASK_MEASURE.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("value", "readings", "unit", "says"),
    [
        (12.5, (), "mm", ""),
        (3, (3, 80), "mm", ""),
        (2.9, (), "mm", "expected 3 to 80 mm"),
        (125, (), "mm", "size is 125 mm"),
        (12.5, (12, 125), "mm", "size is 125 mm"),
        (float("nan"), (), "mm", "expected 3 to 80 mm"),
        (1.25, (), "cm", "expected mm"),
        (1234567, (), "mm", r"size is \(.*\) mm"),
    ],
)
def test_a_number_beyond_the_plausible_range_is_a_fault(
    card_file, toy_card, value, readings, unit, says
):
    measure = load_card(card_file(toy_card + FIELD + MEASURE)).measures["size"]
    stated = Quantity(field="size", value=value, unit=unit, readings=readings, evidence="t.csv:3")
    fault = measure.fault(stated)
    assert re.search(says, fault) if says else not fault


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"zenodo"', '"ftp"', "kind"),
        ('id = "123"', 'id = "10.5281/zenodo.123"', "id"),
        ('id = "123"', 'record = "123"', "record|id"),
        ('"a.zip"', '"../a.zip"', "a path below the folder of the copy"),
        ('into = "."', 'into = "/etc"', "a path below the folder of the copy"),
        ('into = "."', 'url = "https://zenodo.org/a.zip"', "only with a home of kind 'https'"),
        ('md5 = "0', 'md5 = "z', "md5"),
        ("evidence", "seen", "evidence"),
    ],
)
def test_a_mistake_about_a_home_is_named(card_file, toy_card, old, new, says):
    with pytest.raises(CardError, match=says):
        load_card(card_file(toy_card + HOME.replace(old, new)))
