import pytest

from medrcube.errors import UnknownNameError
from medrcube.taxonomy import Anatomy, Level, Modality, Task, Voxel, cube_tasks


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Abnormity Diagnosis", Task("Abnormality Diagnosis")),
        ("Abnormality Diagnosis", Task("Abnormality Diagnosis")),
        ("View Identification", Task("View Recognition")),
        ("View/Plane Recognition", Task("View Recognition")),
        ("Protocol Recognition", Task("Imaging Protocols Recognition")),
        ("  roi   grounding ", Task("ROI Grounding")),
    ],
)
def test_every_spelling_met_upstream_is_read(text, task):
    assert Task.parse(text) is task


@pytest.mark.parametrize("member", [*Anatomy, *Modality, *Task])
def test_a_value_reads_back_as_its_member(member):
    assert type(member).parse(member.value) is member


@pytest.mark.parametrize("task", Task)
def test_the_release_spelling_reads_back_as_its_task(task):
    assert Task.parse(task.release_name) is task


def test_lung_is_an_alias_of_lungs():
    assert Anatomy.parse("Lung") is Anatomy("Lungs")


@pytest.mark.parametrize("name", ["Report Generation", "", "Diagnosis"])
def test_an_unknown_task_is_an_error_and_names_the_members(name):
    with pytest.raises(UnknownNameError, match="Severity Grading"):
        Task.parse(name)


def test_released_items_carry_the_published_spelling():
    assert Task("Abnormality Diagnosis").release_name == "Abnormity Diagnosis"


def test_abbreviations_are_those_of_the_published_table():
    assert [task.abbreviation for task in cube_tasks()] == [
        "MR", "VR", "IPR", "OR", "RG", "AD", "DD", "SG",
    ]  # fmt: skip


def test_levels_split_the_published_tasks_three_two_three():
    levels = [task.level for task in cube_tasks()]
    assert [levels.count(level) for level in Level] == [3, 2, 3]


def test_a_voxel_prints_as_its_three_names():
    voxel = Voxel(Anatomy("Brain"), Modality("MRI"), Task("Disease Diagnosis"))
    assert str(voxel) == "Brain / MRI / Disease Diagnosis"
