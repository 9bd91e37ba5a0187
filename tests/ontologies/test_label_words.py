import pytest

from medrcube.ontologies.label_words import content_words, is_composite, is_rest_class, normalise


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Pulmonary oedema", "pulmonary edema"),
        ("haemothorax", "Hemothorax"),
        ("brain tumours", "brain tumor"),
        ("ground-glass opacities", "Ground glass opacity"),
        ("Pleural_Thickening", "pleural thickening"),
    ],
)
def test_spellings_of_one_name_are_equal(first, second):
    assert normalise(first) == normalise(second)


def test_digits_and_stars_tell_names_apart():
    names = {normalise(name) for name in ("T1-weighted", "T2-weighted", "T2*-weighted")}
    assert len(names) == 3


def test_singular_words_that_end_in_s_stay():
    assert normalise("atelectasis") == "atelectasis"
    assert normalise("lung mass") == "lung mass"


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("ribs", "rib"),
        ("cysts", "cyst"),
        ("gas", "gas"),
        ("ties", "tie"),
        ("flies", "fly"),
        ("bodies", "body"),
        ("thrombus", "thrombus"),
    ],
)
def test_plurals_become_one_spelling_with_their_singular(plural, singular):
    assert normalise(plural) == singular


def test_names_are_compared_as_words_in_their_order():
    assert normalise("Lung_nodules, right") == "lung nodule right"
    assert normalise("nodule lung") != normalise("lung nodule")


def test_fillers_carry_no_content():
    assert content_words("fracture of the clavicle") == {"fracture", "clavicle"}


def test_rest_classes_and_composites_are_recognised():
    assert is_rest_class("Pleural Other")
    assert is_composite("Nodule/Mass")
    assert is_composite("lung nodule or mass")
    assert not is_rest_class("brother")
    assert not is_composite("corner")
