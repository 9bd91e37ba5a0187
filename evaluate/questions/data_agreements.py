"""Sources whose images must not leave this machine, because of a data agreement.

Data under credentialed access or an agreement are licensed to a person, who may not redistribute
them; a model provider is a third party. A user with the owner's permission declares it for each
source.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.models.protocol import Model
from medrcube.evaluate.questions.selection import ItemFilter

if TYPE_CHECKING:
    from medrcube.sources._framework.card import Card

__all__ = [
    "known_cards",
    "permitted_sources",
    "rights_text",
    "sending_text",
    "sends_outside",
    "sources_under_agreement",
    "states_place",
    "stays_here",
    "withhold_agreement_sources",
]

_HERE = ("hf/", "baseline/")


def sends_outside(model: Model) -> bool:
    """Whether images leave this machine; assumed for third-party models that do not state it.

    They state it by a true attribute ``runs_here``, or by an ``endpoint`` in their identity.

    A URL counts as local only if the host is ``localhost`` or a loopback address, since the
    resolution of other names may change between two questions. A local server that forwards
    questions (LiteLLM's proxy, Ollama for its cloud models) counts as external.
    """
    if model.name.startswith(_HERE) or getattr(model, "runs_here", False) is True:
        return False
    if model.identity.get("forwards"):
        return True
    endpoint = model.identity.get("endpoint")
    return not stays_here(endpoint if isinstance(endpoint, str) else None)


def states_place(model: Model) -> bool:
    """Whether a model that may send images states where to."""
    return bool(model.identity.get("endpoint") or model.identity.get("forwards"))


def stays_here(endpoint: str | None) -> bool:
    """Whether a URL is ``localhost`` or a loopback address; false if unknown."""
    host = urlsplit(endpoint).hostname if endpoint else None
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def known_cards() -> Mapping[str, Card]:
    """Return the cards of all known sources by id."""
    # Takes a tenth of a second to import, which a run on this machine does not need.
    from medrcube.sources.registry import find_sources  # noqa: PLC0415

    return {name: source.card for name, source in find_sources().items()}


def withhold_agreement_sources(
    choice: ItemFilter, items: Iterable[BenchmarkItem], model: Model, may_send: Iterable[str]
) -> ItemFilter:
    """Return the filter without sources whose images must not leave this machine.

    Args:
        choice: the user's filter.
        items: items of the release.
        model: the model.
        may_send: folders of sources under an agreement that may be sent anyway.
    """
    if not sends_outside(model):
        return choice
    return replace(
        choice, withheld=sources_under_agreement(items, known_cards()) - frozenset(may_send)
    )


def sources_under_agreement(
    items: Iterable[BenchmarkItem], cards: Mapping[str, Card]
) -> frozenset[str]:
    """Return folders of the release with images that only their licensee may hold.

    Args:
        items: items of the release.
        cards: cards by id; a source without one is judged only by the release's ``restricted``
            flag.
    """
    by_folder = {_fold(card.id): card for card in cards.values()}
    folders = set[str]()
    for item in items:
        card = by_folder.get(_fold(item.dataset))
        if card is None:
            agreed, passed_on = True, not item.restricted
        else:
            agreed = card.access.mode != "open"
            passed_on = not item.restricted and card.access.passed_on != "no"
        if agreed and not passed_on:
            folders.add(item.dataset)
    return frozenset(folders)


def permitted_sources(names: Iterable[str], folders: Collection[str]) -> frozenset[str]:
    """Return the folders of a release that ``--i-may-send`` names.

    Raises:
        WorkspaceError: a name is not a source of the release that needs permission.
    """
    by_name = {_fold(folder): folder for folder in folders}
    folder_by_name = {name: by_name.get(_fold(name)) for name in names}
    if unknown := sorted(name for name, folder in folder_by_name.items() if folder is None):
        needed = ", ".join(sorted(folders)) or "none"
        raise WorkspaceError(
            f"--i-may-send (in Python may_send): {', '.join(unknown)} is not a source of this "
            f"release that needs permission; these do: {needed}"
        )
    return frozenset(folder for folder in folder_by_name.values() if folder is not None)


def sending_text(model: Model) -> str:
    """Describe where the images of permitted sources go."""
    if states_place(model):
        return "sent to another machine, as you stated you may"
    return (
        f"given to {model.name}, which does not declare that it runs on this machine (runs_here), "
        "as you stated you may"
    )


def rights_text(folder: str, cards: Mapping[str, Card]) -> str:
    """Describe the rights to a source, for a user who is about to send it."""
    card = next((card for card in cards.values() if _fold(card.id) == _fold(folder)), None)
    if card is None:
        return f"{folder}: the release marks its images as restricted; no card gives the reason."
    return (
        f"{card.title} ({card.access.mode} access, {card.access.licence}): {card.access.describe()}"
    )


def _fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())
