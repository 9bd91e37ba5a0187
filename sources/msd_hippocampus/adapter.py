"""MSD hippocampus: the enlarged middle sagittal slice of each labelled hippocampus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.errors import ReadError
from medrcube.facts import Case, ImageRef, MaskFile, Region, Skip
from medrcube.sources._formats.decathlon import check_classes
from medrcube.sources._formats.nifti_masks import load_labels, slice_at
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_NAME = CARD.pattern("volume", "key")
_LARGEST, _TIMES = CARD.integer("most_voxels"), CARD.integer("enlarged")
_LEAST, _MOST = CARD.numbers("voxels", 2)
_PARTS = (("structure", "both", (1, 2)), ("part", "1", (1,)), ("part", "2", (2,)))


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per volume with a label map; unpaired files are skipped."""
    if layout != "course":
        check_classes(root, {"Anterior": 1, "Posterior": 2})
    truths = root.stems("labels")
    for path in root.part("volumes"):
        name = _NAME.fullmatch(path.name)
        truth = truths.pop(name["key"], None) if name else None
        if name is None or truth is None:
            reason = "no label beside it" if name else "is not named hippocampus_NNN"
            yield Skip(key=path.stem, reason=reason, paths=(path,))
            continue
        yield Case(
            key=name["key"],
            images=(ImageRef(paths=(path,)),),
            regions=tuple(
                Region(
                    field=field,
                    value=value,
                    shape=MaskFile(paths=(truth,), values=values, drawn_on=path),
                    evidence=f"{truth.name}={' or '.join(map(str, values))}",
                )
                for field, value, values in _PARTS
            ),
            split="train",
            plane="sagittal",
        )
    for key, truth in sorted(truths.items()):
        yield Skip(key=f"{key} label", reason="no volume beside it", paths=(truth,))


def read(image: ImageRef) -> Any:
    """Read a volume and enlarge every sagittal slice by linear interpolation.

    Raises:
        ReadError: code ``foreign-volume`` if it is not a crop with 1 mm voxels.
    """
    from medrcube.build import readers  # noqa: PLC0415  # of an extra: adapters load without it

    volume, name = readers.read(image), image.paths[0].name
    spacing, shape = volume.spacing or (0, 0, 0), volume.slices.shape
    if max(shape) > _LARGEST or max(abs(mm - 1) for mm in spacing) > 0.01 or volume.affine is None:
        raise ReadError(
            f"{name}: has {' x '.join(map(str, shape))} voxels of "
            f"{' x '.join(f'{mm:.2f}' for mm in spacing)} mm; expected at most {_LARGEST} a side, "
            "of 1 mm: is it a volume of another dataset?",
            code="foreign-volume",
        )
    slices: NDArray[Any] = np.stack([volume.slices[k] for k in range(shape[0])])
    slices, affine, mm = slices.astype(np.float32), volume.affine.copy(), list(spacing)
    for axis in set(range(3)) - {int(np.abs(affine[0, :3]).argmax())}:
        slices = _enlarged(slices, axis)
        affine[:3, 3] += affine[:3, axis] * (0.5 / _TIMES - 0.5)
        affine[:3, axis] /= _TIMES
        mm[axis] /= _TIMES
    return replace(volume, slices=slices, affine=affine, spacing=(mm[0], mm[1], mm[2]))


def _enlarged(slices: NDArray[Any], axis: int) -> NDArray[Any]:
    count = slices.shape[axis]
    places = ((np.arange(count * _TIMES) + 0.5) / _TIMES - 0.5).clip(0, count - 1)
    low = places.astype(np.intp)
    high = (low + 1).clip(max=count - 1)
    shape = [-1 if other == axis else 1 for other in range(3)]
    share = (places - low).astype(np.float32).reshape(shape)
    return np.asarray(slices.take(low, axis) * (1 - share) + slices.take(high, axis) * share)


def frames(case: Case, volume: Any) -> list[int]:
    """Return the slice through the middle of both parts.

    Raises:
        ReadError: code ``label-order`` if the anterior part is not in front, ``label-size`` if the
            size of a part is not that of a hippocampus.
    """
    (truth,) = case.regions[0].shape.paths  # type: ignore[union-attr]
    labels = load_labels(truth)
    parts = [labels.mask_of(value) for value in (1, 2)]
    for part in parts:
        if not _LEAST <= part.voxels.sum() <= _MOST:
            raise ReadError(
                f"{truth.name}: a part has {part.voxels.sum()} voxels{part.instead}; expected "
                f"{_LEAST:.0f} to {_MOST:.0f}: is it the label of another dataset?",
                code="label-size",
            )
    if parts[0].centre()[1] <= parts[1].centre()[1]:
        raise ReadError(
            f"{truth.name}: label 1 lies behind label 2; the card assumes that it is the anterior "
            "part, as in 260 labels: are the labels or the axes of this copy exchanged?",
            code="label-order",
        )
    return [slice_at(volume, labels.mask_of(1, 2).centre())]
