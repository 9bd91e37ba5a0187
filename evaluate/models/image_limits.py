"""Size limits of images and requests by provider; larger questions are refused.

- Anthropic: 5 MiB of base64 for a picture, by its own error ("image exceeds 5 MB maximum: ... bytes
  > 5242880 bytes") in github.com/anthropics/claude-code/issues/14887 of December 2025; 32 MB for a
  request, from memory of the page "Errors", not verified.
- OpenAI and Azure: 50 MB for a request, from memory of "Images and vision", not verified.
- Gemini: 20 MB for a request with pictures in it, by discuss.ai.google.dev/t/43061 of 2024.

Servers of your own have limits that nobody documents; nothing is said of them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from medrcube.evaluate.dataset import Benchmark, BenchmarkItem
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
    """What a provider takes.

    Attributes:
        provider: its name.
        picture: most bytes of a picture in base64; ``None`` where none is known.
        request: most bytes of a request.
        source: where both come from.
    """

    provider: str
    picture: int | None
    request: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """Pictures that a provider would refuse.

    Attributes:
        limits: of the provider.
        pictures: paths in the release, sorted.
        items: how many items ask about them.
    """

    limits: PictureLimits
    pictures: tuple[str, ...]
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyRequests:
    """Questions that a provider would refuse for all their pictures together.

    Attributes:
        limits: of the provider.
        items: names of the items that are asked so, sorted.
        largest: bytes of the pictures of the largest request in base64.
    """

    limits: PictureLimits
    items: tuple[str, ...]
    largest: int


_ANTHROPIC = PictureLimits(
    provider="Anthropic",
    picture=5 * 2**20,
    request=32_000_000,
    source="5 MiB a picture by its own errors of December 2025; 32 MB a request from memory",
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
    """The limits of whoever answers for a model; ``None`` where none are known.

    Anthropic's interface has them at every address, since gateways pass pictures on as they are.
    """
    if model.name.startswith("anthropic/"):
        return _ANTHROPIC
    host = urlsplit(str(model.identity.get("endpoint", ""))).hostname or ""
    return next((limits for end, limits in _HOSTS.items() if host.endswith(end)), None)


def too_large(
    benchmark: Benchmark, items: Iterable[BenchmarkItem], model: Model
) -> TooLarge | None:
    """Pictures that would be refused as they lie; nothing is read but the sizes of files.

    Args:
        benchmark: the release.
        items: what is asked, with pictures.
        model: whom it is asked.
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
    """Whether so many examples and a question might be too much; looks at the largest pictures."""
    limits = limits_of(model)
    if limits is None or not examples:
        return False
    images = {item.image for item in benchmark.items if item.image is not None}
    sizes = sorted((_base64(benchmark, image) for image in images), reverse=True)
    return sum(sizes[: examples + 1]) > limits.request


def heavy_requests(plan: RunPlan, model: Model) -> HeavyRequests | None:
    """Questions whose pictures, those of their examples too, are more than a request may hold.

    A picture that is too large by itself is told by ``too_large``.
    """
    limits = limits_of(model)
    if limits is None:
        return None
    sizes: dict[str, int] = {}
    heavy: dict[str, int] = {}
    for question in plan.asked:
        if question.presentation.condition is Condition.BLIND:
            continue
        paths = [plan.examples[name].image for name, _ in question.shots] + [
            question.presentation.image
        ]
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
    try:
        size = (benchmark.root / image).stat().st_size
    except OSError:
        return 0
    return 4 * ((size + 2) // 3)
