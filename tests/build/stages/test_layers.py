"""Tables of layers are held to the rules of those of the package, and a workspace has its own."""

import pytest

from medrcube.build.source_checks.vocabulary_check import check_layers
from medrcube.build.workspace_sources import workspace_sources
from medrcube.errors import MedrcubeError, VocabularyError
from medrcube.fact_kind import FactKind
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import COLUMNS
from medrcube.ontologies.visibility import load_visibility
from medrcube.sources.registry import vocabulary_of
from medrcube.taxonomy import Anatomy, Modality
from medrcube.vocabulary.layers import Vocabulary, using, using_vocabulary
from medrcube.workspace import WorkspaceFolder

MODALITIES = load_relations().group_members("modality")
TERM = f"{','.join(COLUMNS)}\nscintigraphy,modality,scintigraphy,,,,,,,no term: made up,\n"
VISIBLE = "concept,anatomy,modality,shown,reason,reviewed\n"


@pytest.fixture(autouse=True)
def package_alone():
    with using(Vocabulary()):
        yield


@pytest.fixture
def layer(tmp_path):
    """A folder with a modality as a concept, and what it excludes."""

    def write(excluded, *, group="modality", visible=""):
        rows = [f"{group},scintigraphy,excludes,{other},one an image," for other in excluded]
        text = "\n".join(["group,label_a,relation,label_b,reason,reviewed", *rows, ""])
        (tmp_path / "terms.csv").write_text(TERM)
        (tmp_path / "relations.csv").write_text(text)
        if visible:
            (tmp_path / "visible.csv").write_text(VISIBLE + visible)
        return tmp_path

    return write


def test_a_concept_joins_a_group_of_the_package_by_excluding_all_its_members(layer):
    with using_vocabulary([layer(MODALITIES)]):
        check_layers()
        assert load_relations().group_members("modality") == (*MODALITIES, "scintigraphy")


def test_a_concept_that_excludes_only_some_members_is_refused(layer):
    with (
        using_vocabulary([layer(MODALITIES[1:])]),
        pytest.raises(MedrcubeError, match="modality"),
    ):
        check_layers()


def test_a_scale_of_the_package_takes_no_member(layer):
    grades = load_relations().group_members("CT severity")
    with (
        using_vocabulary([layer(grades, group="CT severity")]),
        pytest.raises(VocabularyError, match="none where the group is a scale"),
    ):
        check_layers()


def test_what_images_show_is_added_and_never_changed(layer):
    with using_vocabulary([layer(MODALITIES, visible="glioma,Breast,MRI,no,made up,\n")]):
        assert load_visibility().shows("glioma", Anatomy("Breast"), Modality("MRI")) is False
    assert load_visibility().shows("glioma", Anatomy("Breast"), Modality("MRI")) is None
    with (
        using_vocabulary([layer(MODALITIES, visible="lung,Heart,CT,no,made up,\n")]),
        pytest.raises(MedrcubeError, match="may add rows, not change them"),
    ):
        load_visibility()


def test_the_folder_vocabulary_of_a_workspace_is_a_layer_of_its_builds(tmp_path):
    workspace = WorkspaceFolder(root=tmp_path)
    workspace.vocabulary.mkdir()
    (workspace.vocabulary / "words.toml").write_text('[[anatomy]]\nname = "Eye"\n')
    workspace_sources(workspace)
    assert "Eye" in Anatomy
    with using(vocabulary_of(vocabulary=[workspace.vocabulary])):
        assert "Eye" in Anatomy


def test_a_kind_is_the_same_whatever_layers_its_card_was_read_under(tmp_path):
    kinds = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words.toml").write_text(f'[[anatomy]]\nname = "{name}"\n')
        with using_vocabulary([tmp_path / name]):
            kinds += [FactKind("disease")]
    assert kinds[0] is kinds[1]
