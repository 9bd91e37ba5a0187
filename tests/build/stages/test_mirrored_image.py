"""A mirror image: the clean picture with its columns in reverse, where two regions lie apart."""

from dataclasses import replace

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from medrcube.build.incremental import cache_database
from medrcube.build.incremental.cache_database import content_key
from medrcube.build.pixels.mirror import EPOCH
from medrcube.build.stages.plan import Artefact, RenderJob, artefacts_of
from medrcube.build.stages.rendering.render import render_job
from medrcube.facts import Case, ImageRef, MaskFile, Region
from medrcube.sources._framework.card_parts.pixels import PixelPolicy
from medrcube.taxonomy import Modality

POLICY = PixelPolicy(
    window="percentile:1-99",
    slice="largest-mask",
    plane="axial",
    orient="affine",
    spacing="header",
    colour="keep",
)
MIRRORED = Artefact(kind="mirrored")


@pytest.fixture
def job(toy, tmp_path):
    """A job on a slice of 100 columns with two regions; ``job(columns of the second)``."""

    def plan(second):
        values = np.random.default_rng(0).integers(0, 200, (100, 80, 3)).astype(np.uint8)
        labels = np.zeros_like(values)
        labels[slice(*second), 60:70, 1] = 2
        labels[20:40, 30:50, 1] = 1
        for name, array in (("image", values), ("mask", labels)):
            nib.save(nib.Nifti1Image(array, np.eye(4)), tmp_path / f"{name}.nii.gz")
        regions = tuple(
            Region(
                field="region",
                value=str(value),
                shape=MaskFile(paths=(tmp_path / "mask.nii.gz",), values=(value,)),
                evidence="a row",
            )
            for value in (1, 2)
        )
        (tmp_path / "images/toy").mkdir(parents=True, exist_ok=True)
        return RenderJob(
            source="toy",
            folder=toy.folder,
            root=tmp_path,
            case=Case(
                key="a",
                images=(ImageRef(paths=(tmp_path / "image.nii.gz",)),),
                regions=regions,
            ),
            concepts=("LV", "LA"),
            policy=POLICY,
            plane="axial",
            artefacts=(Artefact(kind="clean"), MIRRORED),
            name="a",
        )

    return plan


def pictures_of(result, folder):
    return {
        picture.artefact.kind: np.asarray(Image.open(folder / picture.path))
        for picture in result.pictures
    }


def test_the_mirror_image_is_the_clean_one_with_its_columns_in_reverse(job, tmp_path):
    result = render_job(job((60, 80)), tmp_path / "images")
    pictures = pictures_of(result, tmp_path / "images")
    assert (pictures["mirrored"] == pictures["clean"][:, ::-1]).all()
    assert (pictures["mirrored"] != pictures["clean"]).any()
    [recipe] = [p.recipe for p in result.pictures if p.artefact == MIRRORED]
    assert recipe["mark"] == {**vars_of(MIRRORED), "boxes": [], "epoch": EPOCH}
    assert [p.path for p in result.pictures] == ["toy/ca/a.png", "toy/ca/a.mirrored.png"]


def vars_of(artefact):
    return {"kind": artefact.kind, "field": artefact.field, "concept": artefact.concept}


@pytest.mark.parametrize("second", [(30, 60), (22, 52)], ids=["overlap", "near"])
def test_regions_that_are_not_apart_have_no_mirror_image(job, tmp_path, second):
    result = render_job(job(second), tmp_path / "images")
    assert set(pictures_of(result, tmp_path / "images")) == {"clean"}
    assert result.problems == ()


def test_a_change_of_what_a_mirror_image_is_makes_it_anew(job, monkeypatch):
    planned = job((60, 80))
    digests = {str(path): "0" for path in planned.case.files()}
    plain = replace(planned, artefacts=planned.artefacts[:1])
    before = [content_key(each, digests) for each in (planned, plain)]
    monkeypatch.setattr(cache_database, "MIRROR_EPOCH", EPOCH + 1)
    after = [content_key(each, digests) for each in (planned, plain)]
    assert before[0] != after[0]
    assert before[1] == after[1]


@pytest.fixture
def is_mirrored(toy, monkeypatch):
    """Whether a mirror image of a case is planned, once a task asks for one."""
    from medrcube.build.stages import plan  # noqa: PLC0415

    class Asking:
        class declaration:  # noqa: N801
            artefacts = ("clean", "mirrored")

    monkeypatch.setattr(plan, "Task", (Asking,))

    def planned(**changes):
        case = Case(
            key="a",
            images=(ImageRef(paths=()),),
            regions=tuple(
                Region(field="region", value=value, shape=MaskFile(paths=()), evidence="a row")
                for value in ("g", "h")
            ),
            modality=Modality("MRI"),
        )
        monkeypatch.setattr(plan, "concept_of", lambda _, region: region.value)
        monkeypatch.setattr(plan, "_is_asked", lambda *_: False)
        return MIRRORED in artefacts_of(toy.card, replace(case, **changes))

    return planned


def test_slices_with_two_regions_are_mirrored(is_mirrored):
    assert is_mirrored()


def test_a_film_may_bear_a_side_letter_and_is_not_mirrored(is_mirrored):
    assert not is_mirrored(modality=Modality("X-ray"))


def test_images_side_by_side_are_not_mirrored(is_mirrored):
    assert not is_mirrored(images=(ImageRef(paths=()),) * 2)
