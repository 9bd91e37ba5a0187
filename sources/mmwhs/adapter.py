"""MM-WHS: labelled CT and MR volumes in three planes, checked for grey scale and orientation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from medrcube.errors import RefusedError
from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.sources._formats.nifti_masks import load_labels, slice_at
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.taxonomy import Modality

STRUCTURES = {
    "500": (500,),
    "600": (600,),
    "420": (420, 421),
    "550": (550,),
    "205": (205,),
    "820": (820,),
    "850": (850,),
}
"""Value in the card -> stored values; 421 is a typing error for 420."""
VESSELS = {"820", "850"}
PLANES = ("axial", "coronal", "sagittal")
CARD = own_card(__file__)
_NAME = CARD.pattern("image", "key", "kind")
_CENTRE, _WIDTH = CARD.numbers("ct_window_hu", 2)
_AIR = CARD.number("most_air_hu")
_ENDS = CARD.numbers("mr_window_percentiles", 2)


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield three planes of every labelled volume, in any folder."""
    del layout
    labels = root.stems("labels")
    keys: set[str] = set()
    for name in root.names:
        match = _NAME.fullmatch(name.rpartition("/")[2])
        if match is None:
            continue
        image = root / name
        if match["key"] in keys:
            yield Skip(key=name, reason="another copy of a volume", paths=(image,))
            continue
        keys.add(match["key"])
        beside = image.with_name(image.name.replace("_image", "_label"))
        label = labels.get(f"{match['key']}_label", beside)
        for plane in PLANES:
            yield Case(
                key=f"{match['key']}-{plane}",
                images=(ImageRef(paths=(image,)),),
                patient=match["key"],
                labels=(Label(field="plane", value=plane, evidence="cut by the affine"),),
                regions=tuple(
                    Region(
                        field="vessel" if value in VESSELS else "structure",
                        value=value,
                        shape=MaskFile(paths=(label,), values=codes),
                        evidence=f"{label.name}={value}",
                    )
                    for value, codes in STRUCTURES.items()
                ),
                split="train",
                modality=Modality("CT" if match["kind"] == "ct" else "MRI"),
                plane=plane,
            )


def read(image: ImageRef) -> Any:
    """Read a volume with the window of its modality.

    Raises:
        RefusedError: code ``not-hounsfield`` if the air of a CT is not near -1000 HU.
    """
    from medrcube.build import readers  # noqa: PLC0415

    volume = readers.read(image)
    low, high = np.percentile(np.asarray(volume.slices), _ENDS)
    window = ((low + high) / 2, max(high - low, 1.0))
    if image.paths[0].name.startswith("ct_"):
        window = (_CENTRE, _WIDTH)
        if low > _AIR:
            raise RefusedError(
                f"{image.paths[0].name}: its darkest voxels are {low:.0f} where the card expects "
                f"air below {_AIR:.0f} HU; is the file stored with an offset?",
                code="not-hounsfield",
            )
    return replace(volume, greys=replace(volume.greys, windows=(window,)))


def frames(case: Case, volume: Any) -> list[int]:
    """Return the slice with the largest heart among those without stray voxels.

    Raises:
        RefusedError: code ``wrong-directions`` if organs are not in anatomical arrangement,
            ``stray-voxels`` if no slice is free of them.
    """
    plane = case.plane or "axial"
    path = case.files()[-1]
    labels = load_labels(path)
    ventricle, atrium, aorta = (labels.mask_of(*STRUCTURES[v]) for v in ("500", "550", "820"))
    if ventricle.centre()[0] >= atrium.centre()[0] or aorta.centre()[2] <= ventricle.centre()[2]:
        raise RefusedError(
            f"{path.name}: by its affine the left ventricle does not lie left of the right atrium "
            "and below the aorta; its directions are wrong",
            code="wrong-directions",
        )
    heart = labels.mask_of(*(code for values in STRUCTURES.values() for code in values))
    areas = heart.areas(plane)
    for values in STRUCTURES.values():
        areas = np.where(labels.strays(*values).areas(plane) > 0, 0, areas)
    if not areas.any():
        raise RefusedError(
            f"{path.name}: every {plane} slice of the heart holds voxels apart from the rest of "
            "their structure; expected one part each, or outlines and boxes would be too wide",
            code="stray-voxels",
        )
    return [slice_at(volume, heart.centre_of_slice(plane, int(areas.argmax())))]
