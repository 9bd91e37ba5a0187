"""Make the request of a question at the moment when it is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from medrcube.errors import ReleaseError
from medrcube.evaluate.images import Picture, UnusablePictureError, read_picture
from medrcube.evaluate.models.contract import Request
from medrcube.evaluate.prompts import render_prompt
from medrcube.evaluate.running.recent import Recent
from medrcube.evaluate.running.run_folder import Asked

_KEPT = 8 * 2**20


def _pictures() -> Recent[Picture]:
    return Recent(most=_KEPT, weigh=lambda picture: len(picture.data))


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Builds requests; each picture is read and proved once for questions back to back.

    Attributes:
        root: folder of the release.
    """

    root: Path
    _recent: Recent[Picture] = field(default_factory=_pictures, init=False)

    async def build(self, asked: Asked) -> Request:
        """The request of a question.

        Raises:
            ReleaseError: its picture is not what it was when the run was begun.
        """
        image = asked.presentation.image
        picture = None
        if image is not None:
            picture = await self._recent.get(image, lambda: self._read(image))
            if picture.sha256 != asked.image_sha256:
                raise ReleaseError(
                    f"{self.root / image}: changed while the run was under way; begin a new run "
                    "with the release as it is now"
                )
        return Request(
            item=asked.item.name,
            prompt=render_prompt(asked.item),
            options=asked.item.options,
            picture=picture,
        )

    def _read(self, image: str) -> Picture:
        path = self.root / image
        try:
            return read_picture(path, root=self.root)
        except UnusablePictureError as error:
            raise ReleaseError(f"{path}: vanished while the run was under way: {error}") from error
