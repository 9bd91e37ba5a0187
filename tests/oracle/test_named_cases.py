"""Given these raw labels, is this option refused? Each through a build of a tiny source."""

import pytest

from medrcube.build_settings import BuildSettings
from medrcube.facts import Grade
from medrcube.sources._framework import contract
from medrcube.sources._synthetic import images
from medrcube.sources.registry import find_sources

OTHERS = ("Pneumothorax", "kyphosis", "gynecomastia")
"""Findings of a chest that have nothing to do with the pairs below, nor with each other."""
TIMES = 4
"""Pictures of a kind, so that no option is left out because it is an answer too seldom."""


def field(*values, name="finding", kind="finding", absence="implied", stated="A", **more):
    """One field of a card whose raw values are concepts."""
    lines = [f'{key} = "{value}"' for key, value in {"stated": stated, **more}.items()]
    same = ", ".join(f'"{value}"' for value in values)
    head = ["[[field]]", f'name = "{name}"', f'kind = "{kind}"', f'absence = "{absence}"']
    return "\n".join([*head, *lines, f"same = [{same}]\n"])


def pictures(**statements):
    """Several pictures of each kind: ``pictures(a="finding Edema present; ...")``."""
    return {f"{key}-{n}": text for key, text in statements.items() for n in range(TIMES)}


def each_alone(values, name="finding"):
    """Pictures that each show one of the values and nothing else."""
    return pictures(**{f"v{n}": f"{name} {value} present" for n, value in enumerate(values)})


def beside(build, key, case=""):
    """Every wrong option that stands beside a key, on pictures whose key begins so."""
    samples = build.oracle.samples
    return {
        option.concept
        for item in build.items
        if item.concept == key and samples[item.sample].case.startswith(case)
        for n, option in enumerate(item.options)
        if n != item.key
    }


def faults(build, key=None):
    """What the oracle has to say, of one key or all; a case must not hide another fault."""
    items = [item for item in build.items if key in {None, item.concept}]
    return [str(fault) for item in items for fault in build.oracle.examine(item)]


FINDINGS = {"tasks": ["Abnormality Diagnosis"]}
LOWER_AND_HIGHER = [
    ("malignant pleural effusion", "Pleural Effusion"),
    ("Consolidation", "Lung Opacity"),
    ("Edema", "Lung Opacity"),
    ("Cardiomegaly", "Enlarged Cardiomediastinum"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("lower", "higher"), LOWER_AND_HIGHER)
def test_what_a_true_finding_implies_is_no_wrong_option(tiny_source, lower, higher):
    values = (lower, higher, *OTHERS)
    build = tiny_source(field(*values), each_alone(values), **FINDINGS)
    assert beside(build, lower) == set(OTHERS)
    assert any(higher in beside(build, other) for other in OTHERS)
    assert faults(build) == []


@pytest.mark.few(1)
@pytest.mark.parametrize(("lower", "higher"), LOWER_AND_HIGHER)
def test_what_implies_a_true_finding_is_no_wrong_option_while_nobody_denies_it(
    tiny_source, lower, higher
):
    values = (lower, higher, *OTHERS)
    build = tiny_source(field(*values), each_alone(values), **FINDINGS)
    assert beside(build, higher) == set(OTHERS)
    assert any(lower in beside(build, other) for other in OTHERS)
    assert faults(build) == []


@pytest.mark.few(1)
@pytest.mark.parametrize(("lower", "higher"), LOWER_AND_HIGHER[1:])
def test_what_implies_a_true_finding_stands_beside_a_third_one_only_where_it_is_denied(
    tiny_source, lower, higher
):
    third = OTHERS[0]
    both = f"finding {third} present; finding {higher} present"
    alone = each_alone((lower, *OTHERS))
    alone |= pictures(denied=f"{both}; finding {lower} absent", silent=both)
    build = tiny_source(field(lower, higher, *OTHERS), alone, **FINDINGS)
    assert lower in beside(build, third, case="denied")
    assert beside(build, third, case="silent") == set(OTHERS[1:])
    assert faults(build, third) == []


@pytest.mark.few(1)
@pytest.mark.parametrize(("lower", "higher"), LOWER_AND_HIGHER)
def test_of_two_options_none_implies_the_other_though_the_first_is_denied(
    tiny_source, lower, higher
):
    alone = each_alone((lower, higher, *OTHERS))
    alone |= pictures(denied=f"finding {higher} present; finding {lower} absent")
    build = tiny_source(field(lower, higher, *OTHERS), alone, **FINDINGS)
    assert beside(build, higher, case="denied") == set(OTHERS)
    assert faults(build) == []


@pytest.mark.few(1)
@pytest.mark.parametrize(("lower", "higher"), LOWER_AND_HIGHER)
def test_what_is_implied_stays_true_though_a_table_denies_it(tiny_source, lower, higher):
    alone = each_alone((lower, higher, *OTHERS))
    alone |= pictures(denied=f"finding {lower} present; finding {higher} absent")
    build = tiny_source(field(lower, higher, *OTHERS), alone, **FINDINGS)
    assert beside(build, lower, case="denied") == set(OTHERS)
    assert faults(build) == []


def test_nodule_mass_and_their_joined_label_never_meet(tiny_source):
    joined = ("Nodule", "Mass", "Nodule/Mass")
    values = (*joined, *OTHERS)
    build = tiny_source(field(*values), each_alone(values), **FINDINGS)
    for key in joined:
        assert not beside(build, key) & set(joined)
    assert beside(build, "Nodule") == set(OTHERS)
    assert any("Mass" in beside(build, other) for other in OTHERS)
    assert faults(build) == []


def test_a_label_that_joins_two_findings_is_no_wrong_option_at_all(tiny_source):
    """Asked alone, so that no block leaves it out for want of a question that it answers."""
    key, *others = OTHERS
    build = tiny_source(field("Nodule/Mass", *OTHERS), each_alone([key]), **FINDINGS)
    assert beside(build, key) == set(others)


def test_a_finding_left_open_is_no_wrong_option(tiny_source):
    alone = each_alone(OTHERS)
    alone |= pictures(open="finding gynecomastia present; finding kyphosis unknown")
    build = tiny_source(field(*OTHERS), alone, **FINDINGS)
    assert beside(build, "gynecomastia", case="open") <= {"Pneumothorax"}
    assert "kyphosis" in beside(build, "gynecomastia", case="v")
    assert faults(build) == []


def test_a_look_alike_is_a_wrong_option_only_where_its_reader_denies_it(tiny_source):
    values = ("Consolidation", "Atelectasis", *OTHERS)
    alone = each_alone(values)
    alone |= pictures(denied="finding Consolidation present; finding Atelectasis absent")
    build = tiny_source(field(*values), alone, **FINDINGS)
    assert "Atelectasis" not in beside(build, "Consolidation", case="v")
    assert "Atelectasis" in beside(build, "Consolidation", case="denied")
    assert faults(build) == []


def test_of_a_finding_on_both_sides_neither_side_is_wrong(tiny_source):
    values = ("left", "right", "bilateral")
    build = tiny_source(
        field(*values, name="side", group="laterality"), each_alone(values, "side"), **FINDINGS
    )
    assert beside(build, "left") == {"right"}
    assert beside(build, "right") == {"left"}
    assert beside(build, "bilateral") == set()
    assert faults(build) == []


TYPES = ("epidural", "intraparenchymal", "intraventricular")


def test_what_one_slice_does_not_show_may_be_elsewhere_in_the_study(tiny_source):
    fields = field(*TYPES, absence="silent", scope="study")
    fields += field(*TYPES, name="here", scope="slice")
    key, near, far = TYPES
    rows = {
        f"study{n}": "; ".join(
            f"finding {kind} {'present' if kind == entry else 'absent'}" for kind in TYPES
        )
        for n, entry in enumerate(TYPES * TIMES)
    }
    rows |= {
        f"slice{n}": f"finding {entry} present; "
        + "; ".join(f"here {kind} absent" for kind in TYPES if kind != entry)
        for n, entry in enumerate(TYPES * TIMES)
    }
    case = {"anatomy": "Brain", "modality": "CT", "shows": "study"}
    build = tiny_source(fields, rows, **FINDINGS, **case)
    about_the_study = [item for item in build.items if item.scope == "study"]
    assert {build.oracle.samples[entry.sample].case[:5] for entry in about_the_study} == {"study"}
    assert near in beside(build, far, case="study")
    assert key in beside(build, far, case="study")


def test_a_fact_of_the_study_is_not_asked_of_a_slice(tiny_source):
    fields = field(*TYPES, scope="study") + field(*TYPES, name="here", scope="slice")
    rows = each_alone(TYPES) | {
        f"here{n}": f"here {kind} present" for n, kind in enumerate(TYPES * TIMES)
    }
    case = {"anatomy": "Brain", "modality": "CT", "shows": "slice"}
    build = tiny_source(fields, rows, **FINDINGS, **case)
    assert {item.scope for item in build.items} == {"slice"}
    assert {build.oracle.samples[item.sample].case[:4] for item in build.items} == {"here"}
    assert faults(build) == []


NAMES = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion"),
    *("Edema", "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices"),
)
PAIR = ("Pneumothorax", "Fracture")
CELLS = {"zero": "0.0", "blank": "", "open": "-1.0"}


@pytest.fixture
def chexpert(tmp_path):
    """A CheXpert of one-finding films: one of a pair is 1, the other 0, -1 or nothing."""
    root = tmp_path / "raw"
    home = root / "CheXpert-v1.0-small"
    lines = [",".join(("Path", "Sex", "Age", "Frontal/Lateral", "AP/PA", *NAMES))]
    cases, number = {}, 0
    for key, cell in CELLS.items():
        for first, second in (PAIR, PAIR[::-1]):
            for _ in range(TIMES):
                number += 1
                place = f"valid/patient{number:05}/study1/view1_frontal"
                cells = {first: "1.0", second: cell}
                row = ",".join(cells.get(name, "") for name in NAMES)
                lines.append(f"CheXpert-v1.0-small/{place}.jpg,Male,50,Frontal,AP,{row}")
                film = images.picture(150, 170, seed=number)
                images.write_picture((home / place).with_suffix(".jpg"), film)
                cases[place] = key
    images.write_lines(home / "valid.csv", lines)
    film = images.picture(150, 170, seed=0)
    place = "train/patient99999/study1/view1_frontal"
    images.write_picture((home / place).with_suffix(".jpg"), film)
    row = f"CheXpert-v1.0-small/{place}.jpg,Male,50,Frontal,AP" + "," * len(NAMES)
    images.write_lines(home / "train.csv", [lines[0], row])
    return root, cases


def _kinds_of_cells(build, cases):
    """What the table said of the wrong options: kinds of cells behind items on findings."""
    samples = build.oracle.samples
    return {
        cases[samples[item.sample].case]
        for item in build.items
        if item.task == "Abnormality Diagnosis"
    }


def test_a_blank_of_chexpert_is_no_zero(chexpert, rebuild):
    root, cases = chexpert
    build = rebuild("chexpert", root, "small")
    assert _kinds_of_cells(build, cases) == {"zero"}
    assert beside(build, "Pneumothorax") == {"Fracture"}
    assert faults(build) == []


def test_a_blank_of_chexpert_counts_as_silence_when_silence_is_asked_for(chexpert, rebuild):
    root, cases = chexpert
    settings = BuildSettings(evidence=Grade.C, two_option_share=1.0)
    build = rebuild("chexpert", root, "small", settings)
    assert "blank" in _kinds_of_cells(build, cases)
    grades = {
        (cases[build.oracle.samples[item.sample].case], item.grade)
        for item in build.items
        if item.task == "Abnormality Diagnosis" and set(PAIR) == {o.concept for o in item.options}
    }
    assert grades == {("zero", "A"), ("blank", "C")}


def test_minus_one_of_chexpert_is_never_a_wrong_option(chexpert, rebuild):
    root, cases = chexpert
    build = rebuild(
        "chexpert", root, "small", BuildSettings(evidence=Grade.C, two_option_share=1.0)
    )
    for item in build.items:
        if cases[build.oracle.samples[item.sample].case] == "open":
            assert not set(PAIR) <= {option.concept for option in item.options}


SHAPES = ("OVAL", "ROUND", "IRREGULAR", "LOBULATED")
JOINED = {
    "LEFT_CC": ("ROUND-OVAL", {"ROUND", "OVAL"}),
    "LEFT_MLO": ("IRREGULAR-ARCHITECTURAL_DISTORTION", {"IRREGULAR"}),
    "RIGHT_CC": ("OVAL-LYMPH_NODE", {"OVAL"}),
}


@pytest.mark.thorough
def test_every_part_of_a_joined_shape_of_cbis_is_true(tmp_path, rebuild, monkeypatch):
    source = find_sources()["cbis-ddsm"]
    layout = source.card.layouts[0].name
    fixture = contract._load(source.folder / "fixture.py")
    rows, true = [], {}
    for number in range(2 * TIMES):
        patient = f"P_{number:05}"
        for view, (shape, parts) in JOINED.items():
            rows.append((patient, 2, view, 1, shape, "SPICULATED", 4, "MALIGNANT"))
            true[f"Mass-Training_{patient}_{view}"] = parts
        shape = SHAPES[number % 4]
        rows.append((patient, 2, "RIGHT_MLO", 1, shape, "SPICULATED", 4, "BENIGN"))
        true[f"Mass-Training_{patient}_RIGHT_MLO"] = {shape}
    monkeypatch.setattr(fixture, "MASSES", {"Training": tuple(rows), "Test": ()})
    root = tmp_path / "raw"
    root.mkdir()
    fixture.build(root, layout)
    build = rebuild("cbis-ddsm", root, layout)
    items = [item for item in build.items if item.field == "shape"]
    for item in items:
        parts = true[build.oracle.samples[item.sample].case]
        assert parts & {option.concept for option in item.options} == {item.concept}
    films = {build.oracle.samples[item.sample].case[-8:] for item in items}
    assert "_LEFT_CC" in films
    assert "RIGHT_CC" not in films  # a lymph node may be round, and is no mass
    assert not [item for item in items if item.sample and _wrongly(item, true, build)]
    assert faults(build) == []


def _wrongly(item, true, build):
    parts = true[build.oracle.samples[item.sample].case]
    return {o.concept for n, o in enumerate(item.options) if n != item.key} & parts
