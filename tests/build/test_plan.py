from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.plan import picture_names, plan


def test_a_readable_key_becomes_the_published_name():
    assert picture_names(["benign (277)"]) == {"benign (277)": "benign_277"}


def test_keys_that_would_share_a_name_stay_apart():
    names = picture_names(["image (42)", "image(42)", "IMAGE 42", "other"])
    assert len({name.lower() for name in names.values()}) == 4
    assert names["other"] == "other"


@given(keys=st.lists(st.text(min_size=1), unique=True, max_size=8))
def test_names_are_unique_and_safe_for_any_key(keys):
    names = picture_names(keys)
    assert len({name.lower() for name in names.values()}) == len(keys)
    for name in names.values():
        assert name
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_")
        assert not name.startswith(".")
        assert len(name) < 150


def test_a_case_gets_a_clean_picture_and_one_mark_for_each_concept(toy, raw):
    jobs = plan(toy, raw, list(toy.scan(raw, "flat")))
    assert [artefact.kind for artefact in jobs[0].artefacts] == ["clean", "boxes"]
    assert jobs[0].artefacts[1].concept == "glioma"
    assert jobs[0].artefacts[1].suffix == ".boxes-glioma"
    assert jobs[0].hooks == ""
