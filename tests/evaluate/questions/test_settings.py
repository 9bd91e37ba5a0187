"""How a run was asked, in words for its report and for comparisons."""

from __future__ import annotations

from medrcube.evaluate.questions.settings import settings_text, side_by_side

PLAIN = {
    "model": {"name": "openai/m", "parameters": {"max_tokens": 100}},
    "prompt": {"name": "default", "version": "0123"},
    "dataset": {"digest": "d", "items": 1200},
}
SHOTS = {"count": 2, "seed": 7, "rule": "shots/1", "apart_by": "unit and look"}


def test_a_plain_run_has_its_prompt_alone():
    assert settings_text(PLAIN) == {"prompt": "default 0123"}


def test_every_setting_is_told():
    outcome = settings_text(
        {
            **PLAIN,
            "model": {**PLAIN["model"], "system": "Be brief.", "image_detail": "low"},
            "prompt": {"name": "mine.j2", "version": "45", "text": "{{ question }}"},
            "shots": SHOTS,
            "examples_from": {"cell": 1500, "another task": 2},
            "pictures": {"longest_side": 768, "rule": "means"},
            "selection": {"items": 90, "left_out": {"not-there": 3, "may-not-be-sent": 1000}},
            "may_send": ["VINDR-CXR", "MIMIC-CXR-JPG"],
            "again": [
                {
                    "at": "2026-01-01",
                    "ended": ["failed", "truncated"],
                    "questions": 1400,
                    "parameters": {"max_completion_tokens": 9000},
                },
                {"at": "2026-01-02", "ended": ["failed"], "questions": 1, "parameters": None},
            ],
        }
    )
    assert outcome == {
        "prompt": "mine.j2 45",
        "template": "{{ question }}",
        "system prompt": "Be brief.",
        "examples": "2 solved examples, seed 7, of other patients or cases, and of dissimilar "
        "images",
        "examples come": "1,500 from the same cell, 2 from another task",
        "image size": "at most 768 pixels a side (means)",
        "image detail": "low",
        "items": "90 chosen of 1,200; left out 3 without their image; left out 1,000 that may "
        "not be sent",
        "sent by permission": "VINDR-CXR, MIMIC-CXR-JPG",
        "asked again": "1,400 questions (failed or cut), with replies up to 9,000 tokens; "
        "1 question (failed)",
    }


def test_only_what_differs_stands_side_by_side():
    system = {**PLAIN, "model": {**PLAIN["model"], "system": "Be brief."}, "shots": SHOTS}
    assert side_by_side([PLAIN, PLAIN]) == []
    assert side_by_side([system, {**PLAIN, "shots": SHOTS}, system]) == [
        ("system prompt", "Be brief.", "", "Be brief.")
    ]
