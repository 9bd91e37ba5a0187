"""Build the request of a question when it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from medrcube.errors import ReleaseError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.image_files import ImageFile, UnusablePictureError, read_picture
from medrcube.evaluate.models.protocol import Exchange, ModelRequest, RejectedError, Shot
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.question_setup import QuestionSetup
from medrcube.evaluate.runner.conversations import Conversations
from medrcube.evaluate.runner.run_folder import AskedQuestion
from medrcube.evaluate.runner.scheduling.shared_loads import SingleFlightCache
from medrcube.release_format.images import ReleaseImages

__all__ = ["RequestBuilder"]

_CACHE_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class _CachedImage:
    """An image as sent, and the digest of its file."""

    picture: ImageFile
    sha256: str


def _pictures() -> SingleFlightCache[_CachedImage]:
    return SingleFlightCache(most=_CACHE_BYTES, weigh=lambda cached: len(cached.picture.data))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBuilder:
    """Builds requests; each image is read and verified once for consecutive questions.

    Attributes:
        images: the images of the release.
        asking: question setup.
        examples: items that may be few-shot examples, by name.
        conversations: the replies so far to the steps of chains.
    """

    images: ReleaseImages
    asking: QuestionSetup = field(default_factory=QuestionSetup)
    examples: Mapping[str, BenchmarkItem] = field(default_factory=lambda: MappingProxyType({}))
    conversations: Conversations = field(default_factory=Conversations)
    _recent: SingleFlightCache[_CachedImage] = field(default_factory=_pictures, init=False)

    async def build(self, question: AskedQuestion) -> ModelRequest:
        """Build the request of a question.

        Raises:
            ReleaseError: an image changed since the run was started.
            RejectedError: an image must be converted and cannot be decoded.
        """
        condition = question.presentation.condition
        blind = condition is Condition.BLIND
        shots = []
        for name, digest in question.shots:
            item = self.examples[name]
            picture = None if blind or item.image is None else await self._image(item.image, digest)
            prompt = self.asking.prompt.render(item)
            shots.append(Shot(prompt=prompt, reply=item.right_reply, picture=picture))
        *earlier, (_, fresh) = question.turns
        with_image = fresh or question.image_sha256 is None
        return ModelRequest(
            item=question.item.name,
            prompt=self.asking.prompt.render(question.item),
            options=question.item.options,
            picture=await self._image_of(question) if with_image else None,
            shots=tuple(shots),
            history=tuple(
                [
                    Exchange(
                        prompt=self.asking.prompt.render(step.item),
                        reply=text,
                        picture=await self._image_of(step) if new else None,
                    )
                    for (step, new), text in zip(earlier, self._history(question), strict=True)
                ]
            ),
            ask=question.item.target and question.item.target.ask,
        )

    def _history(self, question: AskedQuestion) -> tuple[str, ...]:
        history = self.conversations.history(question)
        if history is None:
            raise RejectedError("an earlier step of its chain has no reply", code="not-reached")
        return history

    async def _image_of(self, question: AskedQuestion) -> ImageFile | None:
        """Return the question's image as sent."""
        image = question.presentation.image
        if image is None:
            return None
        degraded = question.presentation.condition is Condition.DEGRADED
        return await self._image(image, question.image_sha256, degraded=degraded)

    async def _image(
        self, image: str, expected: str | None, *, degraded: bool = False
    ) -> ImageFile:
        place = f"{image}\0degraded" if degraded else image
        cached = await self._recent.get(place, lambda: self._load(image, degraded=degraded))
        if cached.sha256 != expected:
            raise ReleaseError(
                f"{image}: changed during the run; start a new run with the current release"
            )
        return cached.picture

    def _load(self, image: str, *, degraded: bool) -> _CachedImage:
        try:
            picture = read_picture(self.images, image)
        except UnusablePictureError as error:
            raise ReleaseError(f"{image}: disappeared during the run: {error}") from error
        return _CachedImage(self.asking.prepare(picture, degraded=degraded), picture.sha256)
