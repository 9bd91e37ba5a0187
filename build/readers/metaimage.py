"""MetaImage (``.mhd`` with ``.raw``, ``.mha``) through ITK's own reader for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK
from numpy.typing import NDArray

from medrcube.build.readers.checks import (
    as_stack,
    check_finite,
    check_numeric,
    first_slice,
    truncated,
    unsupported,
)
from medrcube.build.volume import Volume
from medrcube.errors import ReadError

_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read a 2-D, 3-D or 4-D MetaImage; ITK's LPS coordinates become RAS.

    Raises:
        ReadError: code ``truncated`` (also when the ``.raw`` file is missing or short),
            ``unsupported-format``, ``singular-affine``, ``not-finite``, ``missing-frame``.
    """
    toolkit: Any = SimpleITK
    toolkit.ProcessObject.SetGlobalDefaultNumberOfThreads(1)  # workers run one thread each
    try:
        image = toolkit.ReadImage(str(path), imageIO="MetaImageIO")
    except RuntimeError as error:
        raise truncated(
            path, "cannot be read: its pixel data (the .raw file?) are missing or short"
        ) from error
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise unsupported(path, "holds several values per pixel; expected one")
    array = toolkit.GetArrayFromImage(image)
    check_numeric(path, array)
    check_finite(path, array)
    affine = _affine(path, image, first_slice(array, frame))
    spacing = image.GetSpacing()
    return Volume(
        slices=as_stack(path, array, frame),
        spacing=(spacing[2] if len(spacing) > 2 else 1.0, spacing[1], spacing[0]),
        affine=affine,
        solid=True,
    )


def _affine(path: Path, image: Any, first: int) -> NDArray[np.float64] | None:
    axes = image.GetDimension()
    if axes < 3:
        return None
    direction = np.asarray(image.GetDirection()).reshape(axes, axes)[:3, :3]
    step = direction * np.asarray(image.GetSpacing()[:3])
    if not abs(np.linalg.det(step)) > 0:
        raise ReadError(
            f"{path.name}: its axes do not span space; expected three directions",
            code="singular-affine",
        )
    matrix = np.eye(4)
    matrix[:3, :3] = step[:, ::-1]
    matrix[:3, 3] = np.asarray(image.GetOrigin()[:3]) + first * step[:, 2]
    return np.asarray(_LPS_TO_RAS @ matrix)
