import pytest
from django.conf import settings

from medrcube.review.errors import ReviewError
from medrcube.review.wording.guidelines import guideline_of

TASK = "Modality Recognition"
OWN = f"""
["{TASK}"]
asks = "Which modality."
accept = "It is one."
refuse = "It is none."
"""


@pytest.fixture
def own_guidelines(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "FOLDER", tmp_path / "review")
    return tmp_path / "guidelines.toml"


def test_the_guideline_of_a_workspace_replaces_that_of_the_task(own_guidelines):
    own_guidelines.write_text(OWN)
    assert guideline_of(TASK).asks == "Which modality."
    assert guideline_of("View Recognition").asks


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('["A"]\nasks = "caf\u00e9"\n'.encode("latin-1"), "line 2 is not UTF-8"),
        (b"[A]\nasks = 'x'\n", "needs exactly asks, accept, refuse"),
        (OWN.replace('"It is one."', "1").encode(), "holds something that is not text"),
        (b"[A\n", "is not valid TOML"),
    ],
)
def test_an_unusable_file_is_refused_by_name(own_guidelines, content, says):
    own_guidelines.write_bytes(content)
    with pytest.raises(ReviewError, match=r"guidelines\.toml") as error:
        guideline_of(TASK)
    assert says in str(error.value)
