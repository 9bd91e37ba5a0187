"""Wrong arguments are errors that say what was found and expected; one name is a list of one."""

from pathlib import Path
from typing import get_args

import pytest

import medrcube
from medrcube.cli.options.models import Epochs, Limit
from medrcube.cli.options.pacing import MaxConnections
from medrcube.cli.options.shared import Workers
from medrcube.errors import MedrcubeError


@pytest.fixture(scope="module")
def release(small_demo):
    return medrcube.load_release(small_demo / "demo/release")


@pytest.fixture(scope="module")
def run(release, tmp_path_factory):
    return release.evaluate("baseline/first", tmp_path_factory.mktemp("run") / "first")


@pytest.fixture(scope="module")
def workspace(small_demo):
    return medrcube.open_workspace(small_demo / "demo")


@pytest.mark.parametrize(
    ("argument", "name", "column"),
    [("tasks", "ROI Grounding", "task"), ("conditions", "blind", "condition")],
)
def test_a_single_name_is_a_list_of_one(release, tmp_path, argument, name, column):
    run = release.evaluate("baseline/first", tmp_path / "run", **{argument: name})
    assert set(run.replies()[column]) == {name}


@pytest.mark.parametrize(
    "single", [lambda run: run, lambda run: run.path, lambda run: str(run.path)]
)
def test_a_report_takes_a_single_run_or_folder(run, tmp_path, single):
    page = medrcube.write_report(single(run), tmp_path / "report.html")
    assert "baseline/first" in page.read_text(encoding="utf-8")


def test_a_single_folder_of_sources_is_a_list_of_one(tmp_path):
    with pytest.raises(MedrcubeError, match=str(tmp_path / "mine")):
        medrcube.list_sources(tmp_path / "mine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conditions": 3}, "conditions is 3; expected a string or a list of strings"),
        ({"conditions": []}, r"conditions is \(\); expected at least one condition"),
        ({"tasks": [None]}, "tasks is None; expected a string or a list of strings"),
        ({"datasets": {"busi": 1}}, "datasets is {'busi': 1}; expected a string or a list"),
        ({"may_send": b"busi"}, "may_send is b'busi'; expected a string or a list"),
        ({"where": 2}, "where is 2; expected a string"),
        ({"out": None}, "out is None; expected a path"),
        ({"epochs": 1.5}, "epochs is 1.5; expected a whole number of at least 1"),
        ({"limit": "3"}, "limit is '3'; expected a whole number of at least 1"),
        ({"max_connections": True}, "max_connections is True; expected a whole number from 1 to"),
        ({"progress": 1}, "progress is 1; expected True or False"),
        ({"model": None}, "model is None; expected PROVIDER/NAME, or an object"),
        ({"settings": {"seed": 1}}, r"settings is {'seed': 1}; expected medrcube\.ModelSettings"),
    ],
)
def test_an_evaluation_refuses_a_wrong_argument(release, tmp_path, arguments, message):
    with pytest.raises(MedrcubeError, match=message):
        release.evaluate(**{"model": "baseline/first", "out": tmp_path / "run", **arguments})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": "2"}, "workers is '2'; expected a whole number of at least 0"),
        ({"seed": "x"}, "seed is 'x'; expected a whole number$"),
        ({"profile": 1}, "profile is 1; expected a path"),
        ({"progress": "no"}, "progress is 'no'; expected True or False"),
    ],
)
def test_a_build_refuses_a_wrong_argument(workspace, arguments, message):
    with pytest.raises(MedrcubeError, match=message):
        workspace.build(**arguments)


@pytest.mark.parametrize("flag", ["allow_unreviewed", "require_agreement", "private"])
@pytest.mark.parametrize("value", ["no", 0, None])
def test_what_leaves_the_house_is_decided_by_true_or_false_alone(workspace, tmp_path, flag, value):
    with pytest.raises(MedrcubeError, match=f"{flag} is {value!r}; expected True or False"):
        workspace.release(tmp_path / "release", **{flag: value})
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("option", "name"),
    [(Epochs, "epochs"), (Limit, "limit"), (MaxConnections, "max_connections")],
)
def test_an_evaluation_has_the_bounds_of_the_command(release, tmp_path, option, name):
    bounds = get_args(option)[1]
    for number in {bounds.min - 1, bounds.max + 1 if bounds.max else bounds.min - 1}:
        with pytest.raises(MedrcubeError, match=f"{name} is {number}; expected a whole number"):
            release.evaluate("baseline/first", tmp_path / "run", **{name: number})
    for number in {bounds.min, bounds.max or bounds.min}:
        options = {"limit": 1, name: number}
        assert release.evaluate("baseline/first", tmp_path / f"run{number}", **options).complete


def test_a_build_has_the_bounds_of_the_command(workspace):
    least = get_args(Workers)[1].min
    with pytest.raises(
        MedrcubeError, match=f"workers is {least - 1}; expected .* at least {least}"
    ):
        workspace.build(workers=least - 1)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["busi"], r"sources is \['busi'\]; expected a mapping from source id to folder"),
        ({"busi": 1}, r"sources\['busi'\] is 1; expected a path"),
        ({1: "raw"}, "a key of sources is 1; expected a source id, as a string"),
    ],
)
def test_a_workspace_is_created_from_a_mapping_alone(tmp_path, sources, message):
    with pytest.raises(MedrcubeError, match=message):
        medrcube.create_workspace(tmp_path / "bench", sources)
    assert not (tmp_path / "bench").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda: medrcube.open_workspace(None),
        lambda: medrcube.load_release(3),
        lambda: medrcube.load_run(["runs/first"]),
        lambda: medrcube.write_report([3], "report.html"),
        lambda: medrcube.list_sources([None]),
    ],
)
def test_a_path_is_a_string_or_a_path(call):
    with pytest.raises(MedrcubeError, match=r"expected a path, as a string or as pathlib\.Path"):
        call()


@pytest.mark.parametrize("thing", ["workspace", "release", "run"])
def test_the_short_form_of_an_object_names_no_folder_of_the_computer(request, thing, small_demo):
    element = request.getfixturevalue(thing)
    text = repr(element)
    assert len(text) < 100
    assert str(Path(element.path).parent) not in text
    assert text.startswith(type(element).__name__)


def test_the_short_form_of_a_workspace_names_its_sources(workspace):
    assert repr(workspace) == f"Workspace(name='demo', sources={sorted(workspace.sources)})"


def test_advice_is_given_for_python_too(workspace, tmp_path):
    with pytest.raises(MedrcubeError, match="allow_unreviewed=True"):
        workspace.release(tmp_path / "release")
    with pytest.raises(MedrcubeError, match=r"medrcube\.create_workspace"):
        medrcube.open_workspace(tmp_path)
