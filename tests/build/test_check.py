import pytest

from medrcube.build.check import check_source
from medrcube.sources.contract import load_source
from medrcube.sources.registry import find_sources

FIXTURE = """\
from medrcube.sources import phantoms


def build(root, layout):
    for number, letter in enumerate("ggmmpp"):
        key = f"{letter} ({number})"
        phantoms.write_picture(root / f"{key}.png", phantoms.picture(96, 112, seed=number))
        mask = phantoms.lesion(96, 112, seed=number)
        phantoms.write_picture(root / f"{key}_mask.png", mask)
"""


@pytest.fixture
def checked(toy):
    """Check the toy source with one of its files changed: ``checked(file, old, new)``."""
    (toy.folder / "fixture.py").write_text(FIXTURE)
    card = toy.folder / "card.toml"
    card.write_text(card.read_text().split("[[quirk]]")[0])

    def run(file="", old="", new=""):
        if file:
            path = toy.folder / file
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new))
        checks = check_source(load_source(toy.folder))
        return {check.name: check.failures for check in checks if check.failures}

    return run


def test_a_source_that_keeps_its_contract_has_no_failures(checked):
    assert checked() == {}


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("card.toml", '"glioma"', '"glioma of nobody"', "glioma of nobody"),
        ("card.toml", 'g = "glioma",', 'g = "glioma", z = "",', "no fixture uses the value 'z'"),
        ("adapter.py", "key=path.stem", 'modality="CT", key=path.stem', "not declared, but"),
        ("card.toml", '"Modality Rec', '"View Recognition", "Modality Rec', "declared, but no"),
        ("fixture.py", "_mask.png", "_msk.png", "no case of layout 'flat' uses this file"),
        ("adapter.py", "key=path.stem", 'key="CANARY" + path.stem', "an identifier of the fixture"),
        ("adapter.py", "letter = path.name[0]", "letter = 'q'", "'q' of field 'tumour'"),
    ],
)
def test_a_broken_promise_is_told_in_one_sentence(checked, file, old, new, says):
    failures = [failure for found in checked(file, old, new).values() for failure in found]
    assert any(says in failure for failure in failures), failures


def test_a_real_source_passes():
    checks = check_source(find_sources()["busi"])
    assert [check.failures for check in checks] == [()] * len(checks)
