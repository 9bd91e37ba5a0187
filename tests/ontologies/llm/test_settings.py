import tomllib
from pathlib import Path

import pytest

from medrcube.build_settings import LlmSettings
from medrcube.errors import WorkspaceError
from medrcube.workspace import CONFIG, init_workspace, open_workspace

PAGE = Path(__file__).parents[3] / "docs/how-to/distractors-by-llm.md"


def settings(tmp_path, text):
    (tmp_path / CONFIG).write_text(text)
    return open_workspace(tmp_path).llm


def test_a_new_workspace_names_no_model(tmp_path):
    assert init_workspace(tmp_path).llm is None


def test_a_model_is_enough(tmp_path):
    assert settings(tmp_path, '[llm]\nmodel = "m"') == LlmSettings(model="m")


def test_all_settings_are_read(tmp_path):
    text = """
[llm]
model = "m"
base_url = "http://localhost:8000/v1/"
api_key_env = "MY_KEY"
max_requests = 3
max_tokens = 4
timeout = 5
"""
    assert settings(tmp_path, text) == LlmSettings(
        model="m",
        base_url="http://localhost:8000/v1",
        api_key_env="MY_KEY",
        max_requests=3,
        max_tokens=4,
        timeout=5.0,
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'llm.model' is missing"),
        ('model = "m"\nmax_request = 3', "did you mean 'max_requests'"),
        ('model = "m"\nmax_tokens = 0', "'llm.max_tokens': expected a whole number, one or more"),
        ('model = "m"\ntimeout = 0', "'llm.timeout': expected seconds"),
        ('model = "m"\ntimeout = inf', "'llm.timeout': expected seconds"),
        ('model = "m"\nbase_url = "localhost:8000"', "'llm.base_url': .* is not an address"),
    ],
)
def test_a_mistake_is_named(tmp_path, text, says):
    with pytest.raises(WorkspaceError, match=says):
        settings(tmp_path, f"[llm]\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        'api_key = "sk-hidden-1"',
        'api_key_env = "sk-hidden-1"',
        'base_url = "http://user:sk-hidden-1@host/v1"',
        'base_url = "http://host/v1?key=sk-hidden-1"',
    ],
)
def test_a_key_in_the_configuration_is_refused_and_not_repeated(tmp_path, text):
    with pytest.raises(WorkspaceError) as excinfo:
        settings(tmp_path, f'[llm]\nmodel = "m"\n{text}')
    assert "sk-hidden-1" not in str(excinfo.value)


def test_the_page_shows_the_settings_as_they_are(tmp_path):
    snippet = PAGE.read_text().partition("```toml\n")[2].partition("```")[0]
    table = tomllib.loads(snippet)["llm"]
    assert settings(tmp_path, snippet) == LlmSettings(
        model=table["model"], base_url=table["base_url"]
    )
    assert set(table) == set(LlmSettings.__dataclass_fields__)
