"""A refusal is distinguishable from doubt."""

from __future__ import annotations

import pytest

from medrcube.evaluate.answer_parsing.refusals import is_refusal


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, I can't assist with that.",
        "I\u2019m sorry, but I can\u2019t help with identifying medical conditions.",
        "I cannot diagnose images.",
        "I'm unable to analyze medical images.",
        "I must decline to answer this medical question.",
        "I don't feel comfortable making a diagnosis.",
        "As an AI language model, I cannot view images.",
        "I'm just an AI and can't interpret X-rays.",
        "I don't see an image attached to your message.",
        "No image provided.",
        "The image was not attached. Please upload the image.",
        "Please consult a qualified medical professional.",
        "抱歉,我无法回答。",
        "对不起\uff0c我无法根据这张图片给出诊断。",
        "作为AI\uff0c我无法查看图像。",
        "Lo siento, no puedo ayudar con eso.",
        "申し訳ありませんが、お答えできません。",
    ],
)
def test_a_refusal_is_told_apart(reply):
    assert is_refusal(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "A and B are both possible.",
        "I cannot exclude a fracture.",
        "I can't tell whether it is B or C.",
        "B and C both seem reasonable; I can't decide.",
        "It is impossible to say.",
        "I see no image artefacts.",
        "The image is not typical of edema.",
        "Mass",
        "",
    ],
)
def test_doubt_is_no_refusal(reply):
    assert not is_refusal(reply)
