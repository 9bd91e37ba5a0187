"""BUSI: the folder is the label, and each mask file marks one lesion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.errors import ReadError, RefusedError
from medrcube.facts import Case, ImageRef, Label, LabelState, MaskFile, Region, Skip
from medrcube.sources._formats.tables.tables import natural_key
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree
from medrcube.sources._framework.settled_cases import without_regions

CARD = own_card(__file__)
_NAME = CARD.pattern("file", "key", "label", "mask", "number")
_NEARLY = CARD.pattern("nearly", "rest")
_CLASSES = ("benign", "malignant", "normal")
_RESAVED = CARD.numbers("resaved_sides_px", 2)

_LIST_LIMIT = 3
"""Maximum number of missing masks to name in a message."""

_MOST_OF_BORDER = 0.5
"""Share of the image border above which a mask counts as inverted; a truncated lesion touches
only one side or two."""


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield one case per image, with one region per mask."""
    del layout
    images: dict[str, Path] = {}
    masks: dict[str, dict[int, Path]] = {}
    stems: set[str] = set()
    for path in sorted(root.files, key=natural_key):
        folder = next(parent.name for parent in path.parents if parent.name in _CLASSES)
        name = _NAME.fullmatch(path.stem)
        if name is None or path.suffix != path.suffix.strip():
            yield Skip(key=f"{folder}/{path.name}", reason=_odd(path), paths=(path,))
            continue
        key = f"{folder}/{path.stem}"
        if name["label"] != folder:
            reason = f"named {name['label']!r} but filed under {folder!r}"
            yield Skip(key=key, reason=reason, paths=(path,))
        elif path.stem in stems:
            yield Skip(key=key, reason="another copy of a file", paths=(path,))
        elif name["mask"]:
            masks.setdefault(name["key"], {})[int(name["number"] or 0)] = path
        else:
            images[name["key"]] = path
        stems.add(path.stem)
    for key, path in images.items():
        yield from _picture(key, path, masks.get(key, {}))
    for key in sorted(masks.keys() - images.keys()):
        paths = tuple(masks[key].values())
        reason = f"{key}.png, the picture of this mask, is not in this copy"
        yield Skip(key=f"{key}_mask", reason=reason, paths=paths)


def _picture(key: str, path: Path, masks: Mapping[int, Path]) -> Iterator[Case | Skip]:
    """Yield an image with its masks, or without any regions if one of the masks is missing."""
    case = _case(key, path, list(masks.values()))
    lost = [number for number in range(max(masks, default=0) + 1) if number not in masks]
    if key.startswith("normal") or not lost:
        yield case
        return
    yield without_regions(case)
    names = " and ".join(
        f"{path.stem}_mask{f'_{number}' if number else ''}.png" for number in lost[:_LIST_LIMIT]
    )
    more = f" (and {len(lost) - _LIST_LIMIT} more)" if len(lost) > _LIST_LIMIT else ""
    beside = f" beside {', '.join(mask.name for mask in masks.values())}" if masks else ""
    are = "is" if len(lost) == 1 else "are"
    reason = f"{names}{more} {are} not in this copy{beside}, so the location of a lesion is unknown"
    yield Skip(key=f"{key}_mask", reason=reason, code="mask-missing")


def _odd(path: Path) -> str:
    """Return what is unexpected about a file name."""
    nearly = _NEARLY.fullmatch(path.stem.strip())
    if path.name != path.name.strip() or path.stem != path.stem.strip():
        what = "its name begins or ends with a blank"
    elif nearly is None:
        what = "its name is not a file name of the dataset"
    elif nearly["rest"] and _NAME.fullmatch(path.stem.removesuffix(nearly["rest"])):
        what = f"{nearly['rest']!r} behind the number is neither _mask nor _mask_1"
    else:
        what = "its name is not a class in small letters, a blank and a number in brackets"
    return f"{what}; expected such as 'benign (3).png' or 'benign (3)_mask_1.png'"


def frames(case: Case, volume: Any) -> list[int]:
    """Return the only frame.

    Raises:
        ReadError: code ``resized`` for an image of an edition that rescaled all images to squares,
            ``inverted-mask`` for a mask that covers most of the border.
        RefusedError: code ``marked-normal`` for a normal image with a non-empty mask.
    """
    rows, columns = volume.slices.shape[1:3]
    if rows == columns and rows in _RESAVED:
        raise ReadError(
            f"{case.key} has {columns} x {rows} pixels, the size of an edition that squeezed all "
            "pictures to squares; expected the sizes of the release: get it from its home page",
            code="resized",
        )
    _check_masks(case, volume)
    return [0]


def _check_masks(case: Case, volume: Any) -> None:
    from medrcube.build.readers import read_mask  # noqa: PLC0415  # of an extra

    for shape in (*case.guide, *(region.shape for region in case.regions)):
        if not isinstance(shape, MaskFile):
            continue
        mask, name = read_mask(shape, volume)[0], shape.paths[0].name
        if shape in case.guide and mask.any():
            raise RefusedError(
                f"{name}: marks {mask.sum()} pixels of a picture that is filed as normal; "
                "expected none, so whether it shows a lesion is not known",
                code="marked-normal",
            )
        border = np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]])
        if border.mean() > _MOST_OF_BORDER:
            raise ReadError(
                f"{name}: marks {100 * border.mean():.0f} % of the border of the picture; expected "
                f"at most {100 * _MOST_OF_BORDER:.0f} %: is it inverted?",
                code="inverted-mask",
            )


def _case(key: str, path: Path, masks: list[Path]) -> Case:
    label = key.partition(" ")[0]
    folder = f"folder {label}"
    labels = [Label(field="diagnosis", value=label, evidence=folder)]
    regions: list[Region] = []
    if label == "normal":
        labels.append(
            Label(field="lesion", value="lesion", state=LabelState.ABSENT, evidence=folder)
        )
        labels.append(Label(field="lesion", value="none", evidence=folder))
    else:
        labels.append(Label(field="lesion", value="lesion", evidence=folder))
        for mask in masks:
            shape = MaskFile(paths=(mask,))
            regions.append(Region(field="lesion", value="lesion", shape=shape, evidence=mask.name))
    return Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        labels=tuple(labels),
        regions=tuple(regions),
        guide=tuple(MaskFile(paths=(mask,)) for mask in masks) if label == "normal" else (),
    )
