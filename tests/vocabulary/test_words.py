"""Words of the axes in layers: what may be added, what is refused, and where it is known."""

import json
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.metadata import EntryPoint
from multiprocessing import get_context

import pytest

from medrcube.build.questions.authoring.task_scaffold import new_task
from medrcube.errors import ReleaseError, UnknownNameError, VocabularyError
from medrcube.fact_kind import FactKind
from medrcube.release_format.vocabulary_file import (
    VOCABULARY,
    added_words,
    release_vocabulary,
)
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary import layers
from medrcube.vocabulary.image_names import image_name, names_modality
from medrcube.vocabulary.layers import (
    Vocabulary,
    activate_in_all_threads,
    active_vocabulary,
    using,
    using_vocabulary,
)
from medrcube.vocabulary.word import in_order, shipped_words, with_shipped

EYE = '[[anatomy]]\nname = "Eye"\naliases = ["Ocular"]\n'
FUNDUS = '[[modality]]\nname = "Fundus"\nconcept = "fundus photography"\nimage = "photograph"\n'


@pytest.fixture(autouse=True)
def package_alone():
    with using(Vocabulary()):
        yield


@pytest.fixture
def layer(tmp_path):
    """A folder with words."""

    def write(text, name="layer"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "words.toml").write_text(text, encoding="utf-8")
        return folder

    return write


def test_a_word_of_a_layer_is_known_while_the_layer_is_active(layer):
    with using_vocabulary([layer(EYE)]):
        assert [*Anatomy] == [*shipped_words(Anatomy), "Eye"]
        assert Anatomy.parse("ocular") is Anatomy("Eye")
    assert "Eye" not in Anatomy
    with pytest.raises(UnknownNameError, match="'Eye' is not a known anatomy"):
        Anatomy("Eye")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[anatomie]]\nname = "Eye"\n', "did you mean 'anatomy'"),
        ('[[anatomy]]\nname = "Eye"\nalias = ["x"]\n', "did you mean 'aliases'"),
        ('[[anatomy]]\naliases = ["x"]\n', "'anatomy[0].name' is missing"),
        ('[[modality]]\nname = "Fundus"\n', "'modality[0].concept' is missing"),
        ("[[anatomy]\n", "is not valid TOML"),
        ('[[anatomy]]\nname = "Eye"\naliases = [" "]\n', "is empty"),
        (FUNDUS + 'words = [""]\n', "non-empty words"),
    ],
)
def test_a_wrong_key_is_told_with_its_file_and_what_is_nearest(layer, text, says):
    folder = layer(text)
    with (
        pytest.raises(VocabularyError) as error,
        using_vocabulary([folder]),
    ):
        tuple(Anatomy), tuple(Modality)
    assert says in str(error.value)
    assert str(folder / "words.toml") in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        '[[anatomy]]\nname = "Brain"\naliases = ["cerebrum"]\n',
        '[[anatomy]]\nname = "Pair of lungs"\naliases = ["lung"]\n',
        '[[anatomy]]\nname = "BRAIN"\n',
    ],
)
def test_a_layer_that_changes_an_earlier_word_is_refused_and_both_are_named(layer, text):
    folder = layer(text)
    with pytest.raises(VocabularyError) as error, using_vocabulary([folder]):
        tuple(Anatomy)
    assert str(folder / "words.toml") in str(error.value)
    assert "medrcube/vocabulary/words.toml" in str(error.value)


def test_two_layers_may_declare_the_same(layer):
    with using_vocabulary([layer(EYE, "a"), layer(EYE, "b")]):
        assert [*Anatomy].count("Eye") == 1


def test_two_layers_must_not_declare_one_word_in_two_ways(layer):
    both = [layer(EYE, "a"), layer(EYE.replace("Ocular", "Oculus"), "b")]
    with pytest.raises(VocabularyError) as error, using_vocabulary(both):
        tuple(Anatomy)
    assert all(str(folder) in str(error.value) for folder in both)


def test_a_plug_in_is_active_everywhere(layer, monkeypatch):
    folder = layer(EYE)
    point = EntryPoint(name="eyes", value="eyes", group=layers.ENTRY_POINT_GROUP)
    monkeypatch.setattr(layers, "entry_points", lambda **_: [point])
    monkeypatch.setattr(EntryPoint, "load", lambda _: folder)
    layers._plugin_folders.cache_clear()
    layers._of_plugins.cache_clear()
    try:
        with using_vocabulary([]):
            assert "Eye" in Anatomy
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: "Eye" in Anatomy).result()
    finally:
        layers._plugin_folders.cache_clear()
        layers._of_plugins.cache_clear()


@pytest.mark.parametrize("target", ["/nowhere", layers, ModuleNotFoundError("No module")])
def test_a_plug_in_without_a_layer_is_told_by_its_name(monkeypatch, target):
    def load(_):
        if isinstance(target, Exception):
            raise target
        return target

    point = EntryPoint(name="eyes", value="eyes_of_others", group=layers.ENTRY_POINT_GROUP)
    monkeypatch.setattr(layers, "entry_points", lambda **_: [point])
    monkeypatch.setattr(EntryPoint, "load", load)
    layers._plugin_folders.cache_clear()
    try:
        with pytest.raises(VocabularyError, match=r"'eyes' \(eyes_of_others\)"):
            Vocabulary.of(())
    finally:
        layers._plugin_folders.cache_clear()


def test_a_word_brings_what_is_known_of_it_to_another_process(layer):
    with using_vocabulary([layer(FUNDUS)]):
        word = Modality("Fundus")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            assert pool.submit(_told, word).result() == ("Fundus", "photograph", False)
        data = pickle.dumps(word)
        assert pickle.loads(data) is word  # noqa: S301 -- written above
    assert pickle.loads(data).image == "photograph"  # noqa: S301


def _told(word):
    return (word.value, word.image, word in Modality)


def test_threads_of_a_server_know_the_words_of_its_workspace(layer):
    activate_in_all_threads(Vocabulary.of([layer(EYE)]))
    try:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: "Eye" in Anatomy).result()
    finally:
        layers._OF_PROCESS.clear()


def test_a_word_cannot_be_changed():
    with pytest.raises(AttributeError, match="its layer declares"):
        Modality("CT").image = "scan"


def test_the_digest_changes_with_any_file_of_a_layer(layer):
    folder = layer(EYE)
    digests = {Vocabulary().digest, Vocabulary.of([folder]).digest}
    (folder / "visible.csv").write_text("concept\n", encoding="utf-8")
    digests.add(Vocabulary.of([folder]).digest)
    assert len(digests) == 3


def test_an_image_is_called_as_the_layer_says(layer):
    text = EYE + FUNDUS + '[[image]]\nmodality = "Fundus"\nanatomy = "Eye"\nname = "fundus photo"\n'
    with using_vocabulary([layer(text)]):
        assert image_name(Modality("Fundus"), Anatomy("Eye")) == "fundus photo"
        assert image_name(Modality("Fundus"), Anatomy("Brain")) == "photograph"
        assert names_modality("Which disease is in this fundus photo?")
    assert not names_modality("Which disease is in this fundus photo?")


def test_a_name_may_end_in_a_bracket(layer):
    with using_vocabulary([layer(FUNDUS.replace('"Fundus"', '"PET (FDG)"'))]):
        assert names_modality("What is seen by PET (FDG)?")
    assert not names_modality("What is seen by carpet (FDG)?")


def test_names_that_are_not_known_come_last():
    assert in_order(Anatomy, ["Eye", "Heart", "Brain"]) == ["Brain", "Heart", "Eye"]
    assert with_shipped(Anatomy, ["Eye"]) == [*shipped_words(Anatomy), "Eye"]
    assert Anatomy.recorded("Eye") == "Eye"


class TestRelease:
    def test_has_no_file_for_words_of_the_package(self):
        assert added_words([*Anatomy, *Modality]) == {}

    def test_declares_its_words_to_whoever_reads_it(self, layer, tmp_path):
        with using_vocabulary([layer(EYE + FUNDUS)]):
            added = added_words([Anatomy("Eye"), Anatomy("Brain"), Modality("Fundus")])
        (tmp_path / VOCABULARY).write_text(json.dumps(added), encoding="utf-8")
        with using(release_vocabulary(tmp_path)):
            assert Anatomy("Eye").spellings() == ("eye", "ocular")
            assert Modality("Fundus").image == "photograph"
        assert "Eye" not in Anatomy

    def test_declares_a_region_and_a_modality_of_one_name(self, layer):
        with using_vocabulary([layer(EYE + FUNDUS.replace('"Fundus"', '"Eye"'))]):
            added = added_words([Anatomy("Eye"), Modality("Eye")])
        assert [*added] == ["anatomy", "modality"]

    def test_declares_the_level_and_the_kinds_that_its_tasks_name(self, layer, tmp_path):
        folder = layer(
            '[[kind]]\nname = "sign"\nabnormal = true\n'
            '[[level]]\nname = "top"\nmeaning = "what to do"\n'
        )
        path = new_task("Sign Reading", folder / "tasks") / "task.toml"
        text = path.read_text(encoding="utf-8").replace('["attribute"]', '["sign"]')
        path.write_text(text.replace('level = "mid"', 'level = "top"'), encoding="utf-8")
        with using_vocabulary([folder]):
            added = added_words([Task("Sign Reading")])
        (tmp_path / VOCABULARY).write_text(json.dumps(added), encoding="utf-8")
        with using(release_vocabulary(tmp_path)):
            assert Task("Sign Reading").level.meaning == "what to do"
            assert FactKind("sign").abnormal

    def test_that_names_a_known_word_leaves_it_as_it_is(self, layer, tmp_path):
        file = tmp_path / VOCABULARY
        file.write_text('{"anatomy": [{"name": "Eye", "aliases": ["old"]}]}', encoding="utf-8")
        with using_vocabulary([layer(EYE)]), using(release_vocabulary(tmp_path)):
            assert Anatomy("Eye").aliases == ("ocular",)
            assert active_vocabulary().folders

    def test_that_moves_a_known_task_to_another_level_is_refused(self, layer, tmp_path):
        folder = layer("")
        new_task("Sign Reading", folder / "tasks")
        with using_vocabulary([folder]):
            added = added_words([Task("Sign Reading")])
        added["task"][0] |= {"level": "high"}
        (tmp_path / VOCABULARY).write_text(json.dumps(added), encoding="utf-8")
        with (
            using_vocabulary([folder]),
            pytest.raises(ReleaseError, match="is of level 'high' here, but of level 'mid'"),
        ):
            release_vocabulary(tmp_path)
        with using(release_vocabulary(tmp_path)):
            assert Task("Sign Reading").level == "high"

    @pytest.mark.parametrize(
        "text",
        [
            "[]",
            "{",
            '{"kinds": []}',
            '{"kind": [{"name": "sign", "abnormal": "yes"}]}',
            '{"anatomy": 3}',
            '{"anatomy": [{"name": "Eye\\u001b[2J"}]}',
            '{"anatomy": [{"name": "\\ud800"}]}',
            '{"anatomy": [{}]}',
            '{"anatomy": {"name": "Eye"}}',
            '{"anatomy": [{"name": "Eye", "size": 1}]}',
        ],
    )
    def test_with_a_faulty_file_is_refused(self, tmp_path, text):
        (tmp_path / VOCABULARY).write_text(text, encoding="utf-8")
        with pytest.raises(ReleaseError, match=r"vocabulary\.json"):
            release_vocabulary(tmp_path)


def test_a_kind_of_fact_may_come_from_a_layer(layer):
    with using_vocabulary([layer('[[kind]]\nname = "sign"\nabnormal = true\n')]):
        kind = FactKind("sign")
        assert (kind.abnormal, kind.several, kind.structure) == (True, False, False)
    assert "sign" not in FactKind


@pytest.mark.parametrize(
    ("modality", "anatomy", "name"),
    [
        ("Ultrasound", "Lungs", "thoracic ultrasound image"),
        ("MRI", "Breast", "MR image"),  # "breast" would point at a key that holds it
        ("Ultrasound", "Breast", "ultrasound image"),
        ("X-ray", "Breast", "mammogram"),
    ],
)
def test_an_image_is_called_as_examiners_call_it(modality, anatomy, name):
    assert image_name(Modality(modality), Anatomy(anatomy)) == name
