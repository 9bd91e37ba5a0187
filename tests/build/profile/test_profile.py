import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from medrcube.build.profile.profile import (
    ProfileError,
    load_profile,
    profile_names,
    require_sources,
)
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel
from medrcube.vocabulary.layers import using_vocabulary
from medrcube.workspace import init_workspace, open_workspace

GOOD = """\
name = "mine"
total = 30
[margins]
outside = ["View Recognition"]
[margins.task]
DD = 20
"View Identification" = 10
[margins.modality]
CT = 15
MRI = 5
[margins.anatomy]
Brain = 20
[items]
per_patient = 2
[sources]
off = ["camus"]
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        file = tmp_path / "mine.toml"
        file.write_text(text)
        return load_profile(str(file))

    return read_text


def test_the_shipped_profile_has_the_published_margins():
    profile = load_profile("medrcube")
    sums = {axis: sum(counts.values()) for axis, counts in profile.margins.items()}
    assert profile.total == 7626
    assert sums == {"task": 7626, "modality": 6626, "anatomy": 6626}
    assert profile.outside == {Task("View Recognition"), Task("Imaging Protocols Recognition")}
    assert profile.margins["task"]["Disease Diagnosis"] == 2445
    assert profile.margins["modality"] == {
        "X-ray": 3461,
        "CT": 1290,
        "Ultrasound": 1115,
        "MRI": 760,
    }
    assert profile.margins["anatomy"]["Heart"] == 420


def test_the_shipped_profile_switches_off_what_upstream_leaves_empty():
    profile = load_profile("medrcube")
    assert profile.off == {"camus", "duke-breast-mri", "echonet-dynamic", "pocus-lung"}
    require_sources(profile, find_sources())


def test_every_shipped_profile_can_be_read():
    assert "medrcube" in profile_names()
    for name in profile_names():
        assert load_profile(name).name == name


def test_a_file_of_a_user_is_read_with_any_known_spelling(read):
    profile = read(GOOD)
    assert profile.margins["task"] == {"Disease Diagnosis": 20, "View Recognition": 10}
    assert (profile.total, profile.per_patient, profile.off) == (30, 2, {"camus"})
    assert profile.options is None


def test_tasks_outside_count_in_no_margin_but_their_own(read):
    profile = read(GOOD)
    inside = Voxel(Anatomy("Brain"), Modality("CT"), Task("Disease Diagnosis"))
    outside = Voxel(Anatomy("Chest"), Modality("X-ray"), Task("View Recognition"))
    assert dict(profile.bounds(inside)) == {
        "task": "Disease Diagnosis",
        "modality": "CT",
        "anatomy": "Brain",
    }
    assert profile.bounds(outside) == (("task", "View Recognition"),)
    assert profile.wants(outside)
    assert not profile.wants(replace(inside, modality=Modality("X-ray")))


def test_a_margin_may_be_left_out(read):
    profile = read('name = "m"\n[margins.modality]\nCT = 4\n')
    assert profile.total == 4
    cell = Voxel(Anatomy("Heart"), Modality("CT"), Task("ROI Grounding"))
    assert profile.bounds(cell) == (("modality", "CT"),)


def test_a_profile_may_have_a_total_alone(read):
    profile = read('name = "m"\ntotal = 5\n')
    assert (profile.total, profile.margins) == (5, {})


def test_margins_that_cannot_all_hold_are_named(read):
    with pytest.raises(ProfileError) as error:
        read(GOOD.replace("MRI = 5", "MRI = 6"))
    message = str(error.value)
    assert "mine.toml" in message
    assert "margins.task 20, margins.modality 21, margins.anatomy 20" in message
    assert "without View Recognition" in message


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("total = 30", "total = 31", "'total': expected 30, to which the margins sum, found 31"),
        ("DD = 20", "DD = -1", "'margins.task.DD': expected a whole number"),
        ("DD = 20", "DD = 20.5", "'margins.task.DD': expected a whole number"),
        ("DD = 20", "Report = 20", "'margins.task.Report': expected one of: Modality"),
        ("DD = 20", 'DD = 10\n"Disease Diagnosis" = 10', "each value once"),
        ('"View Recognition"]', '"Severity Grading"]', "'margins.outside': expected tasks that"),
        ("[margins.anatomy]\nBrain = 20", "[margins.anatomy]", "'margins.anatomy': expected at"),
        ("[margins.anatomy]", "[margins.region]", "unknown key 'margins.region'"),
        ("per_patient = 2", "per_patient = 0", "'items.per_patient': expected a whole number, one"),
        ("per_patient = 2", "sources_per_key = 0", "'items.sources_per_key': expected a whole"),
        ("per_patient = 2", "options = 5", "'items.options': expected 2, 3 or 4"),
        ("per_patient = 2", "per_pateint = 2", "did you mean 'per_patient'"),
        ('off = ["camus"]', "off = 3", "'sources.off': expected a list of strings"),
        ('name = "mine"', "", "'name' is missing"),
        ('name = "mine"', "name = ", "is not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_file_and_key(read, old, new, says):
    assert old in GOOD
    with pytest.raises(ProfileError, match=r"mine\.toml") as error:
        read(GOOD.replace(old, new))
    assert says in str(error.value)


def test_nothing_to_aim_at_is_refused(read):
    with pytest.raises(ProfileError, match="'total': expected at least one item"):
        read('name = "m"\n[margins.task]\nDD = 0\n')


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(ProfileError, match=r"did you mean 'medrcube'.*ends in \.toml"):
        load_profile("medrcub")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ProfileError, match=r"none\.toml: cannot be read"):
        load_profile(str(tmp_path / "none.toml"))


def test_a_source_can_be_switched_on(read):
    assert read(GOOD).switch_on(["camus"]).off == frozenset()


def test_only_what_is_off_can_be_switched_on(read):
    with pytest.raises(ProfileError, match=r"--switch-on busi.*switched off: camus"):
        read(GOOD).switch_on(["busi"])


def test_a_misspelt_source_is_found_out(read):
    profile = read(GOOD.replace("camus", "camsu"))
    with pytest.raises(
        ProfileError, match=r"'sources\.off': no source 'camsu'; did you mean 'camu"
    ):
        require_sources(profile, ["busi", "camus"])


def test_a_workspace_names_a_profile_beside_it(tmp_path):
    init_workspace(tmp_path)
    config = tmp_path / "medrcube.toml"
    text = (
        config.read_text().replace("# profile = ", "profile = ").replace('"medrcube"', '"p.toml"')
    )
    config.write_text(text.replace("# switched_on = []", 'switched_on = ["camus"]'))
    assert tomllib.loads(config.read_text())["build"]["profile"] == "p.toml"
    settings = open_workspace(tmp_path).settings
    assert settings.profile == str(tmp_path.resolve() / "p.toml")
    assert settings.switched_on == ("camus",)


def test_the_profile_of_the_guide_can_be_read_and_its_error_is_the_one_shown(read):
    guide = Path(__file__).parents[3] / "docs" / "how-to" / "build-to-a-profile.md"
    text = guide.read_text()
    (block,) = re.findall(r'```toml\n(name = "brain".*?)```', text, flags=re.DOTALL)
    assert (read(block).total, read(block).off) == (900, {"ixi"})
    require_sources(read(block), find_sources())
    message = re.search(r"brain.toml: (the margins cannot.*?)\n```", text, flags=re.DOTALL)
    with pytest.raises(ProfileError) as error:
        read(block.replace("CT = 400", "CT = 410"))
    assert " ".join(message[1].split()) in str(error.value)


def test_a_profile_is_closed_to_words_of_layers_that_it_does_not_name(read, tmp_path):
    (tmp_path / "words.toml").write_text('[[anatomy]]\nname = "Eye"\n', encoding="utf-8")
    with using_vocabulary([tmp_path]):
        cell = Voxel(Anatomy("Eye"), Modality("CT"), Task("View Recognition"))
        assert not read(GOOD).wants(cell)
        assert not load_profile("medrcube").wants(cell)
        assert read('name = "m"\n[margins.modality]\nCT = 4\n').wants(cell)
        assert read('name = "m"\n[margins.anatomy]\nEye = 4\n').wants(cell)
