from dataclasses import replace

import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pipeline import build
from medrcube.build.workspace_sources import workspace_sources
from medrcube.errors import MedrcubeError, WorkspaceError


@pytest.fixture
def mapped(workspace, toy):
    def make(**values):
        return replace(workspace, source_folders=(toy.folder.parent,), values={"toy": values})

    return make


def test_a_value_of_the_workspace_is_known_to_the_card(mapped, workspace, raw, write_case, quiet):
    write_case(raw, "q (1)")
    workspace = mapped(tumour={"q": ""}, region={"q": ""})
    report = build(workspace, workspace_sources(workspace), LocalEngine(1), quiet)
    assert (report.failures, report.sources[0].set_aside) == ((), 0)
    assert report.sources[0].cases == 7


def test_a_value_of_the_workspace_changes_what_is_remembered_of_the_source(mapped, toy):
    other_fingerprint = workspace_sources(mapped(tumour={"q": ""}))["toy"].card.fingerprint
    assert other_fingerprint not in {
        toy.card.fingerprint,
        workspace_sources(mapped(tumour={"r": ""}))["toy"].card.fingerprint,
    }


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"tumor": {"q": ""}}, "is not a field with values; did you mean 'tumour'?"),
        ({"tumour": {"q": "no such thing"}}, "'no such thing' is not a term"),
        ({"tumour": {"g": ""}}, "to the card 'g' means 'glioma'; remove it here"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_its_place(mapped, values, says):
    with pytest.raises(WorkspaceError, match=r"medrcube\.toml: \[values\.toy\.tum") as excinfo:
        workspace_sources(mapped(**values))
    assert says in str(excinfo.value)


def test_a_source_that_does_not_exist_is_named_before_anything_is_built(workspace):
    with pytest.raises(MedrcubeError, match="no source is called 'toy'"):
        workspace_sources(workspace)


@pytest.mark.parametrize("name", ["view", "Projection", "projection"])
def test_a_value_is_mapped_by_the_column_of_the_table_or_the_field_of_the_card(workspace, name):
    values = {"padchest": {name: {"UNK": "", "OBLIQUE": ""}}}
    result = workspace_sources(replace(workspace, sources={}, values=values))
    assert result["padchest"].card.fields["view"].values["OBLIQUE"] == ""


def test_a_column_of_several_fields_and_a_misspelt_one_name_what_is_meant(workspace):
    for column, text in (
        ("Labels", "values of the fields disease, finding; name one of them"),
        ("Projektion", "did you mean 'Projection'?"),
    ):
        values = {"padchest": {column: {"x": ""}}}
        with pytest.raises(WorkspaceError) as excinfo:
            workspace_sources(replace(workspace, sources={}, values=values))
        assert text in str(excinfo.value)
