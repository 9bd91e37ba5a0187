"""What a sentence says of an option that it names."""

from __future__ import annotations

import pytest

from medrcube.evaluate.answer_parsing.stance import Stance, stance


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("There is no pneumonia.", Stance.DENIED),
        ("There is nothing to suggest pneumonia.", Stance.DENIED),
        ("Not edema, not fracture \u2014 pneumonia.", Stance.ASSERTED),
        ("Unlike pneumonia, this lesion is round.", Stance.DENIED),
        ("The mass is more likely than pneumonia.", Stance.AIRED),
        ("A pneumonia would show air bronchograms.", Stance.AIRED),
        ("Although pneumonia can look alike, the margin is sharp.", Stance.AIRED),
        ("Likely edema, but pneumonia may coexist.", Stance.AIRED),
        ("It could be pneumonia.", Stance.DOUBTED),
        ("Whether this is pneumonia is unclear.", Stance.DOUBTED),
        ("There is pneumonia in the left lung.", Stance.ASSERTED),
        ("There is pneumonia, but the film may be rotated.", Stance.ASSERTED),
        ("I am no doctor, but I see pneumonia.", Stance.ASSERTED),
        ("I am no doctor, but it looks like pneumonia.", Stance.CONCLUDED),
        ("At first glance, this looks like pneumonia.", Stance.AIRED),
        ("Many would call it pneumonia.", Stance.AIRED),
        ("If there were fever, I would favour pneumonia.", Stance.AIRED),
        ("Had the film been rotated, it could be pneumonia.", Stance.AIRED),
        ("如果有发热; 则考虑pneumonia", Stance.AIRED),
        ("Although the film is rotated, there is pneumonia.", Stance.ASSERTED),
        ("A pneumonia, edema or fracture would look different.", Stance.AIRED),
        ("The pneumonia, edema and fracture are excluded.", Stance.DENIED),
        ("This is most consistent with pneumonia.", Stance.CONCLUDED),
        ("Here, pneumonia is the most likely diagnosis.", Stance.CONCLUDED),
    ],
)
def test_the_clause_of_a_name_decides_what_is_said_of_it(sentence, said):
    start = sentence.index("pneumonia")
    assert stance(sentence, start, start + len("pneumonia")) is said
