from dataclasses import dataclass, field

import pytest

from medrcube.facts import Grade, Scope
from medrcube.ontologies.difficulty import (
    Difficulty,
    hardest,
    is_scale,
    level_distance,
    rate_difficulty,
)
from medrcube.ontologies.distractor_safety import (
    CaseFacts,
    DistractorRequest,
    Evidence,
    SafetyRules,
)
from medrcube.ontologies.knowledge_protocol import NoKnowledge
from medrcube.taxonomy import Anatomy, Modality, Task

MARK = Evidence(field="f", scope=Scope.IMAGE, grade=Grade.A)
CHEST = ("Cardiomegaly", "Pneumothorax", "Hernia", "Fracture", "Lung cyst", "Edema", "Emphysema")


@dataclass(frozen=True)
class Likeness(NoKnowledge):
    """An index that knows similarities and siblings of the key, by label."""

    alike: dict = field(default_factory=dict)
    family: frozenset = frozenset()

    def similarity(self, a, b):
        return self.alike.get(b.label, self.alike.get(a.label))

    def siblings(self, a, b):
        return not self.family.isdisjoint((a.label, b.label))


def rated(key, labels, *, grade=Grade.A, knowledge=None, group=None, task=None, apart=None):
    request = DistractorRequest(
        key=key,
        ground=CaseFacts(
            present={key: MARK},
            absent={},
            unknown=frozenset(),
            anatomy=Anatomy("Chest"),
            modality=Modality("X-ray"),
        ),
        scope=Scope.IMAGE,
        group=group,
        task=task,
        apart=apart or {},
    )
    rules = SafetyRules(knowledge=knowledge or NoKnowledge())
    return rate_difficulty(request, dict.fromkeys(labels, grade), rules)


def levels(*arguments, **changes):
    ratings = rated(*arguments, **changes)
    return {label: rating.difficulty.value for label, rating in ratings.items()}


def test_the_top_quarter_of_the_pool_is_hard():
    pool = (*CHEST, "Lung Lesion")
    alike = {label: place / 10 for place, label in enumerate(pool, 1)}
    level_rows = levels("scoliosis", pool, knowledge=Likeness(alike))
    assert [label for label, level in level_rows.items() if level == "hard"] == [
        "Emphysema",
        pool[-1],
    ]


def test_hard_is_a_rank_and_not_an_absolute_similarity():
    low = {label: place / 100 + 0.05 for place, label in enumerate(CHEST)}
    high = {label: value + 0.8 for label, value in low.items()}
    of_low = levels("scoliosis", CHEST, knowledge=Likeness(low))
    assert of_low == levels("scoliosis", CHEST, knowledge=Likeness(high))
    assert of_low["Emphysema"] == "hard"


def test_when_all_are_equally_alike_none_is_hard():
    level_rows = levels("scoliosis", CHEST, knowledge=Likeness(dict.fromkeys(CHEST, 0.5)))
    assert set(level_rows.values()) == {"medium"}


POOL = (*CHEST, "Lung Lesion")


def hard(**changes):
    return {
        label for label, level in levels("scoliosis", POOL, **changes).items() if level == "hard"
    }


def test_what_is_often_there_beside_the_key_is_hard():
    """Without an index our tables know nothing of these labels; the labels of the source do."""
    often = {label: 1 - place / 10 for place, label in enumerate(POOL)}
    assert hard(apart=often) == set(POOL[-2:])


def test_likeness_and_company_count_alike():
    alike = {label: place / 10 for place, label in enumerate(POOL, 1)}
    assert hard(knowledge=Likeness(alike), apart=alike) == set()  # what is alike is never there
    apart = {**dict.fromkeys(POOL, 0.9), POOL[3]: 0.2, POOL[5]: 0.1}
    assert hard(knowledge=Likeness(alike), apart=apart) == {POOL[3], POOL[5]}
    assert hard(knowledge=Likeness(alike)) == set(POOL[-2:])


def test_what_the_source_does_not_tell_goes_by_likeness_alone():
    alike = {label: place / 10 for place, label in enumerate(POOL, 1)}
    assert POOL[-1] in hard(knowledge=Likeness(alike), apart={POOL[0]: 0.5})


def test_company_alone_makes_no_hard_option_of_silence():
    apart = {label: place / 10 for place, label in enumerate(POOL)}
    assert hard(apart=apart, grade=Grade.C) == set()


def test_nothing_in_common_is_easy_and_so_is_nothing_known():
    rating = rated("scoliosis", ("Fracture",), knowledge=Likeness({"Fracture": 0.0}))
    assert (rating["Fracture"].similarity, rating["Fracture"].difficulty.value) == (0.0, "easy")
    rating = rated("scoliosis", ("osteopenia",))
    assert (rating["osteopenia"].similarity, rating["osteopenia"].difficulty) == (None, "easy")


def test_a_sibling_is_hard_however_little_alike():
    knowledge = Likeness(dict.fromkeys(CHEST, 0.1), frozenset({"Hernia"}))
    assert levels("scoliosis", CHEST, knowledge=knowledge)["Hernia"] == "hard"


@pytest.mark.parametrize(("grade", "level"), [("A", "hard"), ("B", "medium"), ("C", "medium")])
def test_what_readers_confuse_is_hard_only_when_it_was_read_as_absent(grade, level):
    level_rows = levels("Consolidation", ("Infiltration",), grade=Grade(grade))
    assert level_rows["Infiltration"] == level


def test_silence_never_makes_a_hard_option():
    knowledge = Likeness(dict.fromkeys(CHEST, 0.9), frozenset(CHEST))
    level_rows = levels("scoliosis", CHEST, grade=Grade.C, knowledge=knowledge)
    assert "hard" not in level_rows.values()


def test_on_a_scale_distance_is_similarity_and_the_next_step_is_hard():
    labels = ("BI-RADS 1", "BI-RADS 4", "BI-RADS 5")
    ratings = rated("BI-RADS 2", labels, group="BI-RADS")
    assert [rating.similarity for rating in ratings.values()] == pytest.approx(
        [5 / 6, 4 / 6, 3 / 6]
    )
    assert ratings["BI-RADS 1"].difficulty is Difficulty.HARD
    assert ratings["BI-RADS 5"].difficulty is Difficulty.MEDIUM


def test_grades_of_severity_are_a_scale_whatever_their_group_says():
    def scale(task, group):
        request = DistractorRequest(
            key="LVEF 40-54",
            ground=CaseFacts(
                present={},
                absent={},
                unknown=frozenset(),
                anatomy=Anatomy("Heart"),
                modality=Modality("MRI"),
            ),
            scope=Scope.IMAGE,
            group=group,
            task=task,
        )
        return is_scale(request, SafetyRules().relations)

    assert scale(Task("Severity Grading"), "LVEF band")
    assert scale(None, "BI-RADS")
    assert not scale(Task("View Recognition"), "chest view")
    assert not scale(Task("Severity Grading"), None)


def test_without_an_index_likeness_is_what_the_tables_say_of_both():
    ratings = rated("Edema", ("Consolidation", "Atelectasis", "Cardiomegaly"))
    assert ratings["Consolidation"].similarity > 0.3
    assert ratings["Cardiomegaly"].similarity == 0.0


def test_an_item_is_as_hard_as_its_hardest_option():
    assert hardest([Difficulty.EASY, Difficulty.HARD, Difficulty.MEDIUM]) is Difficulty.HARD
    assert hardest([]) is None
    assert level_distance(Difficulty.EASY, Difficulty.HARD) == 2
