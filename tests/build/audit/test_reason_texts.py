"""Texts for the reasons under which questions were not asked."""

import pytest

from medrcube.build.audit.reason_texts import reason_text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("undiagnosed", "case without a usable diagnosis"),
        ("evidence-C", "evidence of grade C only"),
        (
            "another image that denies it shows more",
            "a more informative image without it is asked about",
        ),
        ("no-distractor (identity)", "no safe distractor (identity)"),
        (
            "not-proved (one slice of a patient)",
            "not shown to be unanswerable (one slice of a patient)",
        ),
    ],
)
def test_a_known_code_is_shown_in_words_with_its_detail(code, text):
    assert reason_text(code) == text


def test_an_unknown_code_is_shown_as_it_is():
    assert reason_text("not all of it is marked") == "not all of it is marked"
