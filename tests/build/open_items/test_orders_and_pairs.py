"""Orders and pairs of statements, which no shipped task asks, go from a rule to a scored run."""

import json

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.build.release.write import release
from medrcube.build.workspace_sources import workspace_sources
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.stored_scores import read_metrics
from medrcube.workspace import init_workspace, open_workspace

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]

TASK = """\
name = "{name}"
abbreviation = "{short}"
level = "mid"
place = {place}
form = "{form}"
rule = "rule.py"
measures = "how the structures of an image lie above each other"
example = "In which order do these structures lie in this echocardiographic image?"

[facts]
kinds = ["structure"]
artefacts = ["clean"]
told_by = "words"

[wording]
values = ["shown"]

[blind]
drop = 1.0
warn = 0.9

[review]
asks = "How the centres of the structures lie above each other."
accept = "the centres lie apart."
refuse = "two centres lie at one height."
"""
WORDINGS = """\
{% block one %}How do the structures lie in {{ shown }}?{% endblock %}
{% block two %}Which structures of {{ shown }} lie above which?{% endblock %}
{% block three %}In which way do the structures of {{ shown }} lie above each other?{% endblock %}
"""
RULE = """\
from hashlib import sha256

from medrcube.build.open_items.marked_places import marked_places
from medrcube.build.open_items.question import OpenQuestion
from medrcube.forms.order import OrderAsk, OrderTarget
from medrcube.forms.pair import PairAsk, PairTarget


class Rule:
    def questions(self, view):
        by_image = {}
        for place in marked_places(view):
            if len(place.rows) == 1:
                by_image.setdefault(place.sample.id, []).append(place)
        for places in by_image.values():
            if len(places) > 1:
                first = places[0]
                yield OpenQuestion(
                    task=view.task,
                    sample=first.sample,
                    field=first.field.name,
                    concept=first.concept,
                    target=target(view, places),
                    prior=(view.card.id,),
                    grade=first.grade,
                    visible=first.visible,
                )


def target(view, places):
    named = sorted((it.rows[0].centroid_y, view.terms[it.concept].name) for it in places)
    names = [name for _, name in named]
    if view.task.declaration.form == "order":
        return OrderTarget(ask=OrderAsk(labels=tuple(sorted(names))), order=tuple(names))
    swapped = sha256(places[0].sample.id.encode()).digest()[0] % 2 == 1
    upper, lower = names[:2]
    told = (f"The {upper} lies above the {lower}.", f"The {lower} lies above the {upper}.")
    return PairTarget(
        ask=PairAsk(statements=told[::-1] if swapped else told), answers=(not swapped, swapped)
    )


rule = Rule()
"""
FORMS = {"Depth Order": ("DO", "order", 20), "Two Statements": ("TS", "pair", 21)}


@pytest.fixture(scope="module")
def forms_root(tmp_path_factory, quiet):
    """The folder of a release with orders and pairs, and of a run on it."""
    root = tmp_path_factory.mktemp("forms")
    init_workspace(root / "work")
    for name, (short, form, place) in FORMS.items():
        folder = root / "work/vocabulary/tasks" / name.lower().replace(" ", "_")
        folder.mkdir(parents=True)
        text = TASK.format(name=name, short=short, form=form, place=place)
        for file, content in (("task.toml", text), ("questions.j2", WORDINGS), ("rule.py", RULE)):
            (folder / file).write_text(content, encoding="utf-8")
    workspace = open_workspace(root / "work").with_sources({"camus": root / "raw"})
    sources = workspace_sources(workspace)
    sources["camus"].build_fixture(root / "raw", sources["camus"].card.layouts[0].name)
    build(workspace, sources, LocalEngine(1), quiet)
    release(workspace, sources, root / "release", name="x", allow_unreviewed=True)
    reconstruction = reconstruct(
        root / "release", {"camus": root / "raw"}, sources, LocalEngine(1), quiet
    )
    assert reconstruction.short == 0
    run_evaluation(load_benchmark(root / "release"), open_model("baseline/random"), root / "run")
    return root


def test_items_of_both_forms_are_released_and_valid(forms_root, check):
    rows = json.loads((forms_root / "release/CAMUS/open.json").read_text())
    assert {row["form"] for row in rows} >= {"order", "pair"}
    assert check(forms_root / "release").findings == ()


def test_their_replies_are_scored(forms_root):
    forms = read_metrics(forms_root / "run")["forms"]
    assert {"order", "pair"} <= forms.keys()
    assert all(forms[name]["no_answer"] == 0 for name in ("order", "pair"))
    assert 0 <= forms["order"]["credit"] <= 1


def test_the_report_shows_them(forms_root):
    write_report([forms_root / "run"], forms_root / "report.html", forms_root / "release")
    page = (forms_root / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in FORMS)
