"""Size limits of images and requests by provider; questions over the limit are refused.

- Anthropic: 5 MiB of base64 per image, by its own error ("image exceeds 5 MB maximum: ... bytes
  > 5242880 bytes") in github.com/anthropics/claude-code/issues/14887 of December 2025; 32 MB per
  request, from memory of the page "Errors", not verified.
- OpenAI and Azure: 50 MB per request, from memory of "Images and vision", not verified.
- Gemini: 20 MB per request with images, by discuss.ai.google.dev/t/43061 of 2024.

Limits of self-hosted servers are unknown and not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.models.protocol import Model
from medrcube.evaluate.questions.conditions import Condition

if TYPE_CHECKING:
    from medrcube.evaluate.runner.plan import RunPlan

__all__ = [
    "HeavyRequests",
    "PictureLimits",
    "TooLarge",
    "heavy_requests",
    "limits_of",
    "may_be_heavy",
    "too_large",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLimits:
    """Size limits of a provider.

    Attributes:
        provider: name of the provider.
        picture: maximum size of a Base64-encoded image in bytes; ``None`` if unknown.
        request: maximum size of a request in bytes.
        source: source of both numbers.
    """

    provider: str
    picture: int | None
    request: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """Images that a provider would refuse.

    Attributes:
        limits: limits of the provider.
        pictures: paths in the release, sorted.
        items: number of items that use them.
    """

    limits: PictureLimits
    pictures: tuple[str, ...]
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyRequests:
    """Questions that a provider would refuse for the total size of their images.

    Attributes:
        limits: limits of the provider.
        items: names of the affected items, sorted.
        largest: size in bytes of the Base64-encoded images of the largest request.
    """

    limits: PictureLimits
    items: tuple[str, ...]
    largest: int


_ANTHROPIC = PictureLimits(
    provider="Anthropic",
    picture=5 * 2**20,
    request=32_000_000,
    source="5 MiB an image by its own errors of December 2025; 32 MB a request from memory",
)
_OPENAI = PictureLimits(
    provider="OpenAI", picture=None, request=50_000_000, source="50 MB a request, from memory"
)
_GEMINI = PictureLimits(
    provider="Gemini",
    picture=None,
    request=20_000_000,
    source="20 MB a request by Google's forum of 2024",
)
_HOSTS: Mapping[str, PictureLimits] = {
    "api.anthropic.com": _ANTHROPIC,
    "api.openai.com": _OPENAI,
    ".azure.com": _OPENAI,
    "generativelanguage.googleapis.com": _GEMINI,
}


def limits_of(model: Model) -> PictureLimits | None:
    """Return the limits of a model's provider; ``None`` if unknown.

    Anthropic's limits apply at every URL, since gateways pass images on unchanged.
    """
    if model.name.startswith("anthropic/"):
        return _ANTHROPIC
    host = urlsplit(str(model.identity.get("endpoint", ""))).hostname or ""
    return next((limits for end, limits in _HOSTS.items() if host.endswith(end)), None)


def too_large(
    benchmark: Benchmark, items: Iterable[BenchmarkItem], model: Model
) -> TooLarge | None:
    """Return the images that would be refused; only file sizes are read.

    Args:
        benchmark: the release.
        items: items asked with their image.
        model: the model.
    """
    limits = limits_of(model)
    if limits is None:
        return None
    most = min(limits.picture or limits.request, limits.request)
    with_pictures = [item for item in items if item.image is not None]
    sizes = {str(item.image): _base64(benchmark, str(item.image)) for item in with_pictures}
    large = {image for image, size in sizes.items() if size > most}
    if not large:
        return None
    return TooLarge(
        limits=limits,
        pictures=tuple(sorted(large)),
        items=sum(item.image in large for item in with_pictures),
    )


def may_be_heavy(benchmark: Benchmark, model: Model, examples: int) -> bool:
    """Whether a question with that many examples may exceed the limit, by the largest images."""
    limits = limits_of(model)
    if limits is None or not examples:
        return False
    images = {item.image for item in benchmark.items if item.image is not None}
    sizes = sorted((_base64(benchmark, image) for image in images), reverse=True)
    return sum(sizes[: examples + 1]) > limits.request


def heavy_requests(plan: RunPlan, model: Model) -> HeavyRequests | None:
    """Return questions whose images, including examples, exceed the request size limit.

    ``too_large`` reports images that are too large on their own.
    """
    limits = limits_of(model)
    if limits is None:
        return None
    sizes: dict[str, int] = {}
    heavy: dict[str, int] = {}
    for question in plan.questions:
        if question.presentation.condition is Condition.BLIND:
            continue
        paths = [plan.examples[name].image for name, _ in question.shots]
        paths += [step.presentation.image for step, is_sent in question.turns if is_sent]
        images = [image for image in paths if image is not None]
        for image in images:
            sizes.setdefault(image, _base64(plan.benchmark, image))
        total = sum(sizes[image] for image in images)
        if len(images) > 1 and total > limits.request:
            heavy[question.item.name] = max(total, heavy.get(question.item.name, 0))
    if not heavy:
        return None
    return HeavyRequests(limits=limits, items=tuple(sorted(heavy)), largest=max(heavy.values()))


def _base64(benchmark: Benchmark, image: str) -> int:
    state = benchmark.images.state(image)
    return 0 if state is None else 4 * ((state.size + 2) // 3)
