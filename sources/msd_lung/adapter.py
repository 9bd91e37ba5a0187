"""MSD lung: three planes through the tumour of each training volume."""

from __future__ import annotations

from collections.abc import Iterator

from medrcube.facts import Case, ImageRef, Label, MaskFile, Region, Skip
from medrcube.sources._formats.decathlon import check_classes
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

PLANES = ("axial", "coronal", "sagittal")
CARD = own_card(__file__)
_NAME = CARD.pattern("volume", "key")


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per plane of each labelled volume."""
    del layout  # told by the names; nnU-Net appends the channel number
    check_classes(root, {"cancer": 1})
    truths = root.stems("labels")
    for path in root.part("volumes"):
        name = _NAME.fullmatch(path.name)
        if name is None:
            yield Skip(key=path.stem, reason="is not named lung_NNN", paths=(path,))
            continue
        beside = path.parent.parent / "labelsTr" / path.name.replace("_0000", "")
        truth = truths.get(name["key"], beside)
        shape = MaskFile(paths=(truth,), values=(1,))
        region = Region(field="tumor", value="cancer", shape=shape, evidence=f"{truth.name}=1")
        for plane in PLANES:
            evidence = f"{plane} cut of {path.name}"
            yield Case(
                key=f"{name['key']}-{plane}",
                images=(ImageRef(paths=(path,)),),
                patient=name["key"],
                labels=(
                    Label(field="plane", value=plane, evidence=evidence),
                    Label(field="tumor", value="cancer", evidence=region.evidence),
                ),
                regions=(region,),
                split="train",
                plane=plane,
            )
