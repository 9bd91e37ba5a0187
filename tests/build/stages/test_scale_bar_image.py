"""An image with a scale bar: the outline of the region, and a true bar below, or a reason."""

from dataclasses import replace

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from medrcube.build.stages.plan import Artefact, RenderJob, artefacts_of
from medrcube.build.stages.rendering.render import render_job
from medrcube.facts import Case, ImageRef, MaskFile, Region
from medrcube.sources._framework.card_parts.geometry import GeometryTrust
from medrcube.sources._framework.card_parts.pixels import PixelPolicy

POLICY = PixelPolicy(
    window="percentile:1-99",
    slice="largest-mask",
    plane="axial",
    orient="affine",
    spacing="header",
    colour="keep",
)
BAR = Artefact(kind="scale-bar", field="region", concept="glioma")


@pytest.fixture
def rendered(toy, tmp_path):
    """Images of one volume, by kind, and problems: ``rendered(spacing)``."""

    def render(spacing):
        values = np.random.default_rng(0).integers(0, 200, (120, 100, 3)).astype(np.uint8)
        mask = np.zeros_like(values)
        mask[40:60, 30:50, 1] = 1
        for name, array in (("image", values), ("mask", mask)):
            volume = nib.Nifti1Image(array, np.diag([*spacing, 5, 1]))
            nib.save(volume, tmp_path / f"{name}.nii.gz")
        region = Region(
            field="region",
            value="g",
            shape=MaskFile(paths=(tmp_path / "mask.nii.gz",)),
            evidence="a row",
        )
        job = RenderJob(
            source="toy",
            folder=toy.folder,
            root=tmp_path,
            case=Case(
                key="a",
                images=(ImageRef(paths=(tmp_path / "image.nii.gz",)),),
                regions=(region,),
            ),
            concepts=("glioma",),
            policy=POLICY,
            plane="axial",
            artefacts=(Artefact(kind="clean"), replace(BAR, kind="outline"), BAR),
            name="a",
        )
        (tmp_path / "images/toy").mkdir(parents=True)
        result = render_job(job, tmp_path / "images")
        pictures = {
            picture.artefact.kind: np.asarray(Image.open(tmp_path / "images" / picture.path))
            for picture in result.pictures
        }
        return pictures, result

    return render


def test_a_bar_of_its_length_stands_below_the_outline(rendered):
    pictures, result = rendered((0.8, 0.8))
    outline, with_bar = pictures["outline"], pictures["scale-bar"]
    assert result.problems == ()
    assert (with_bar[: len(outline)] == outline).all()
    strip = with_bar[len(outline) :, :, 0]
    assert max(np.flatnonzero(row).size for row in strip) == 25  # 20 mm
    assert [region.mm_per_pixel for region in result.geometry] == [0.8]


def test_a_bar_follows_the_displayed_picture_and_not_the_stored_one(rendered):
    pictures, _ = rendered((1.6, 0.8))
    outline, with_bar = pictures["outline"], pictures["scale-bar"]
    assert outline.shape[1] == 240
    strip = with_bar[len(outline) :, :, 0]
    assert max(np.flatnonzero(row).size for row in strip) == round(50 / 0.8)


def test_no_bar_is_drawn_where_none_would_be_true(rendered):
    pictures, result = rendered((0.05, 0.05))
    assert set(pictures) == {"clean", "outline"}
    [problem] = result.problems
    assert (problem.stage, problem.code) == ("compose", "no-scale-bar")
    assert "0.05 mm per pixel on 120 columns" in problem.message


def test_no_task_of_today_asks_for_a_bar_and_a_card_must_trust_its_spacing(toy, monkeypatch):
    from medrcube.build.stages import plan  # noqa: PLC0415

    region = Region(field="region", value="g", shape=MaskFile(paths=()), evidence="a row")
    case = Case(key="a", images=(ImageRef(paths=()),), regions=(region,))
    assert BAR not in artefacts_of(toy.card, case)
    rules = tuple(replace(rule, artefact="scale-bar") for rule in plan.fact_rules(toy.card.tasks))
    monkeypatch.setattr(plan, "fact_rules", lambda _: rules)
    assert BAR not in artefacts_of(toy.card, case)
    trusted = replace(toy.card, geometry=GeometryTrust(scale="object"))
    is_asked = any(rule.kind is toy.card.fields["region"].kind for rule in rules)
    assert is_asked
    assert BAR in artefacts_of(trusted, case)
