"""A prompt of the user: what it may name, when it is refused, and that a run keeps to it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import WorkspaceError
from medrcube.evaluate.questions.conditions import Condition, Presentation
from medrcube.evaluate.questions.option_letters import misplaced_option
from medrcube.evaluate.questions.prompts import FIELDS, default_prompt, prompt_of, read_prompt
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.question_keys import QuestionKeys
from medrcube.taxonomy import Modality

OPTIONS = "{% for letter, text in options %}{{ letter }}. {{ text }}\n{% endfor %}"

RELETTERED = "({{ letters[loop.index0] }}) {{ o[1] }} {% endfor %}"


@pytest.fixture
def evaluate(release, server, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(template, *options):
        path = tmp_path / "mine.j2"
        path.write_text(template, encoding="utf-8")
        command = ["evaluate", str(release), "--model", "openai/stub", "--base-url", server.url]
        where = ["--out", str(tmp_path / "run"), "--prompt", str(path)]
        return CliRunner().invoke(app, [*command, *where, *options])

    return run


def test_a_template_words_every_question(evaluate, server, prompt_of):
    about = "{{ task }}, {{ modality }}, {{ anatomy }}"
    result = evaluate(f"{about}\n{{{{ question }}}}\n{OPTIONS}Think.")
    assert result.exit_code == 0, result.output
    assert len(server.requests) == 8
    text = prompt_of(server.requests[0])
    assert text.splitlines()[0] == "Disease Diagnosis, X-ray, Chest"
    assert text.endswith("A. Normal\nB. Mass\nC. Edema\nD. Fracture\nThink.")


def test_items_of_two_modalities_have_two_keys_where_the_template_names_the_modality(
    benchmark, tmp_path
):
    path = tmp_path / "mine.j2"
    path.write_text(f"{{{{ modality }}}}\n{{{{ question }}}}\n{OPTIONS}", encoding="utf-8")
    item = benchmark.items[0]
    other = Modality.parse("CT" if item.modality == "MRI" else "MRI")
    keys = QuestionKeys.of(
        benchmark, {"model": "stub"}, QuestionSetup(prompt=read_prompt(path)), None, elsewhere=False
    )
    questions = [
        keys.question_of(Presentation(item=item, condition=Condition.BLIND)).key
        for item in (item, replace(item, modality=other))
    ]
    assert questions[0] != questions[1]


@pytest.mark.parametrize(
    "name", ["key", "answer", "gt_answer", "correct_index", "evidence", "unit", "item", "id"]
)
def test_neither_key_nor_evidence_can_be_named(evaluate, server, tmp_path, name):
    assert name not in FIELDS
    result = evaluate(f"{{{{ question }}}}\n{OPTIONS}{{{{ {name} }}}}")
    assert isinstance(result.exception, WorkspaceError)
    assert f"'{name}' is undefined" in str(result.exception)
    assert not server.requests
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "trick",
    [
        "{{ question.__class__.__mro__ }}",
        "{{ options.__init__.__globals__ }}",
        "{% include 'default.j2' %}",
        "{% for",
        "{{ 1 / 0 }}",
    ],
)
def test_a_template_can_do_nothing_but_word_a_question(evaluate, server, trick):
    result = evaluate(f"{{{{ question }}}}\n{OPTIONS}{trick}")
    assert isinstance(result.exception, WorkspaceError)
    assert "--prompt" in str(result.exception)
    assert not server.requests


@pytest.mark.parametrize(
    ("template", "missing"),
    [
        ("{{ question }}", "option A, option B, option C, option D"),
        (OPTIONS, "the question"),
        ("{{ question }} {{ options[0][1] }}", "option B, option C, option D"),
    ],
)
def test_a_template_that_leaves_out_a_part_of_the_question_is_refused(
    evaluate, server, template, missing
):
    assert f"leaves out {missing} of" in str(evaluate(template).exception)
    assert not server.requests


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (
            "{% for o in options|sort(attribute=1) %}" + RELETTERED,
            r"option A of ALPHA/\w+ behind D",
        ),
        (
            "{% for o in options|reverse %}" + RELETTERED,
            r"option A of ALPHA/\w+ behind D",
        ),
        ("{% for _, text in options %}{{ text }}\n{% endfor %}", "option A .* without a letter"),
        ("{% for x, text in options %}{{ text }} ({{ x }})\n{% endfor %}", "without a letter"),
        ("{% for x, text in options %}{{ x }}.\n{{ text }}\n{% endfor %}", "without a letter"),
        (OPTIONS + "Or B. {{ options[0][1] }}?", "option A of .* behind B"),
    ],
    ids=["sorted", "reversed", "no-letters", "behind", "other-line", "twice"],
)
def test_a_template_that_pairs_an_option_with_another_letter_is_refused(
    evaluate, server, tmp_path, options, pattern
):
    message = str(evaluate(f"{{{{ question }}}}\n{options}").exception)
    assert re.search(pattern, message), message
    assert not server.requests
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("only", ["--dry-run", "--estimate"])
def test_what_is_foreseen_is_refused_for_a_letter_too(evaluate, only):
    template = "{{ question }}{% for _, text in options %}\n{{ text }}{% endfor %}"
    message = str(evaluate(template, only).exception)
    assert "option A of ALPHA/q000 without a letter" in message


@pytest.mark.parametrize(
    "line", ["{0}. {1}", "({0}) {1}", "{0}) {1}", "{0}: {1}", "- **{0}** | {1}", '"{0}": "{1}",']
)
@pytest.mark.parametrize("between", ["\n", "   "])
def test_every_usual_form_of_a_letter_before_its_option_is_taken(line, between):
    options = [("A", "Mass"), ("B", "Mass effect"), ("C", "(none)"), ("D", "-1.5 mm")]
    question = "Grade A: mass? A mass is said to be C: mass."
    text = between.join([question, *(line.format(*option) for option in options)])
    assert misplaced_option(text, question, options) is None


def test_an_option_that_begins_with_another_is_not_taken_for_it():
    options = [("A", "Mass"), ("B", "Mass effect")]
    text = "Which?\nA. Mass effect\nB. Mass"
    assert misplaced_option(text, "Which?", options) == ("A", ("B",))


def test_a_run_goes_on_with_its_own_wording_alone(evaluate, server, tmp_path):
    template = f"{{{{ question }}}}\n{OPTIONS}Answer."
    assert evaluate(template).exit_code == 0
    assert evaluate(template).exit_code == 0
    assert len(server.requests) == 8
    message = str(evaluate(template + " Now.").exception)
    assert "was started with another prompt" in message
    assert "prompt.text: " in message
    assert len(server.requests) == 8
    prompt = json.loads((tmp_path / "run/manifest.json").read_text())["prompt"]
    assert (prompt["name"], prompt["text"]) == ("mine.j2", template)


def test_a_manifest_gives_its_prompt_back(tmp_path, benchmark):
    path = tmp_path / "mine.j2"
    path.write_text(f"{{{{ question }}}}\n{OPTIONS}", encoding="utf-8")
    for prompt in (read_prompt(path), default_prompt()):
        again = prompt_of(json.loads(json.dumps(prompt.identity)))
        assert again is not None
        assert again.render(benchmark.items[0]) == prompt.render(benchmark.items[0])
    assert prompt_of({"name": "default", "version": "of another time"}) is None


@pytest.mark.parametrize("data", [b"\xff", b"x" * 200_000, b"a\0b"])
def test_a_file_that_is_no_short_text_is_refused(tmp_path, data):
    path = tmp_path / "mine.j2"
    path.write_bytes(data)
    with pytest.raises(WorkspaceError, match="--prompt"):
        read_prompt(path)
