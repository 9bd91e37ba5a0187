"""What a sentence says of an option that it names."""

from __future__ import annotations

import pytest

from medrcube.evaluate.answer_parsing.stance import OptionStance, stance


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("There is no pneumonia.", OptionStance.DENIED),
        ("There is nothing to suggest pneumonia.", OptionStance.DENIED),
        ("Not edema, not fracture \u2014 pneumonia.", OptionStance.ASSERTED),
        ("Unlike pneumonia, this lesion is round.", OptionStance.DENIED),
        ("The mass is more likely than pneumonia.", OptionStance.MENTIONED),
        ("A pneumonia would show air bronchograms.", OptionStance.MENTIONED),
        ("Although pneumonia can look alike, the margin is sharp.", OptionStance.MENTIONED),
        ("Likely edema, but pneumonia may coexist.", OptionStance.MENTIONED),
        ("It could be pneumonia.", OptionStance.DOUBTED),
        ("Whether this is pneumonia is unclear.", OptionStance.DOUBTED),
        ("There is pneumonia in the left lung.", OptionStance.ASSERTED),
        ("There is pneumonia, but the film may be rotated.", OptionStance.ASSERTED),
        ("I am no doctor, but I see pneumonia.", OptionStance.ASSERTED),
        ("I am no doctor, but it looks like pneumonia.", OptionStance.CONCLUDED),
        ("At first glance, this looks like pneumonia.", OptionStance.MENTIONED),
        ("Many would call it pneumonia.", OptionStance.MENTIONED),
        ("If there were fever, I would favour pneumonia.", OptionStance.MENTIONED),
        ("Had the film been rotated, it could be pneumonia.", OptionStance.MENTIONED),
        ("如果有发热; 则考虑pneumonia", OptionStance.MENTIONED),
        ("Although the film is rotated, there is pneumonia.", OptionStance.ASSERTED),
        ("A pneumonia, edema or fracture would look different.", OptionStance.MENTIONED),
        ("The pneumonia, edema and fracture are excluded.", OptionStance.DENIED),
        ("This is most consistent with pneumonia.", OptionStance.CONCLUDED),
        ("Here, pneumonia is the most likely diagnosis.", OptionStance.CONCLUDED),
    ],
)
def test_the_clause_of_a_name_decides_what_is_said_of_it(sentence, expected):
    start = sentence.index("pneumonia")
    assert stance(sentence, start, start + len("pneumonia")) is expected
