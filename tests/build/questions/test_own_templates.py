"""A workspace's own question templates replace ours and are held to the same rules."""

import pytest

from medrcube.build.questions.authoring.own_templates import wordings_of
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.templates import TemplateError, package_wordings

FOUND = find_sources()
CARDS = [FOUND[name].card for name in ("vindr-cxr", "ixi", "busi", "camus")]
VIEW = "view_recognition.j2"


@pytest.fixture
def folder(tmp_path):
    """``folder(text)`` or ``folder(text, name)`` -> a folder with one template, as text."""

    def make(text, name=VIEW):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path)

    return make


def test_without_a_folder_the_wordings_are_those_of_the_package():
    assert wordings_of("", CARDS) is package_wordings()


def test_an_own_template_takes_the_place_of_ours_for_its_task_alone(folder):
    text = "{% block own %}Name the {{ scale }}: which of them does {{ shown }} show?{% endblock %}"
    own, ours = wordings_of(folder(text), CARDS), package_wordings()
    assert own.variants(Task("View Recognition")) == ("own",)
    wording = own.render(Task("View Recognition"), "own", scale="views", shown="this mammogram")
    assert wording == "Name the views: which of them does this mammogram show?"
    assert own.version(Task("View Recognition")) != ours.version(Task("View Recognition"))
    assert own.version(Task("ROI Grounding")) == ours.version(Task("ROI Grounding"))


def test_a_changed_wording_is_another_version(folder):
    text = "{% block own %}Which of these {{ scale }} fits {{ shown }}?{% endblock %}"
    before = wordings_of(folder(text), CARDS).version(Task("View Recognition"))
    after = wordings_of(folder(text.replace("fits", "suits")), CARDS)
    assert after.version(Task("View Recognition")) != before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\n{% block own %}Which {{ organ }} is in {{ shown }}?{% endblock %}",
            ":2: 'organ'",
        ),
        ("{% block own %}Which {{ scale }\n is it?{% endblock %}", r":1: "),
        ("{% block own %}Describe {{ shown }}.{% endblock %}", ":1: .*breaks the rule not-a-quest"),
        ("{% block own %}Which view is it?{% endblock %}", ":1: .*breaks the rule no-modality"),
        ("{% block a %}{% if shown %}\n{% block b %}", r":2: "),
        ("plain text", ":1: holds no wording"),
    ],
)
def test_a_fault_names_the_file_and_the_line(folder, text, message):
    with pytest.raises(TemplateError, match=f"{VIEW}{message}"):
        wordings_of(folder(text), CARDS)


def test_a_value_of_another_task_is_named_with_those_that_there_are(folder):
    text = "{% block own %}Which modality shows {{ shown }} as an X-ray?{% endblock %}"
    with pytest.raises(TemplateError, match="values of Modality Recognition: none"):
        wordings_of(folder(text, "modality_recognition.j2"), CARDS)


def test_a_file_of_no_task_is_named(folder):
    with pytest.raises(TemplateError, match=r"poem\.j2: is of no task; name it one of"):
        wordings_of(folder("x", "poem.j2"), CARDS)


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_that_holds_nothing_is_an_error(tmp_path, name):
    with pytest.raises(TemplateError, match=r"holds no question template|is not a folder"):
        wordings_of(str(tmp_path / name), CARDS)
