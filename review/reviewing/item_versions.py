"""Versions of an item: the current one, its content hash, and its authors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from medrcube.review.errors import ConflictError
from medrcube.review.models import (
    Adoption,
    ItemVersion,
    User,
)

__all__ = ["content_sha256", "refuse_outdated", "version_as_read", "wrote_or_proposed"]


def version_as_read(item_id: str, version: int) -> ItemVersion:
    """Return the current version of an item, which must be the one that was displayed.

    Raises:
        ConflictError: there is a newer version, or no such item.
    """
    versions = ItemVersion.objects.filter(item_id=item_id, number=version)
    row = versions.select_related("item", "picture", "overlay").first()
    if row is None:
        raise ConflictError(f"item {item_id} has no version {version}; load the list again")
    refuse_outdated(row)
    return row


def refuse_outdated(version: ItemVersion) -> None:
    """Reject a version that is not the current one of its item.

    Raises:
        ConflictError: there is a newer version.
    """
    if version.item.version != version.number:
        raise ConflictError(
            f"item {version.item_id} has a newer version {version.item.version}; load it again"
        )


def wrote_or_proposed(version: ItemVersion, user: User) -> bool:
    """Whether a user wrote a version or proposed its wording."""
    proposed = Adoption.objects.filter(version=version, proposal__review__claim__user=user)
    return version.author_id == user.pk or proposed.exists()


def content_sha256(
    question: str,
    options: Sequence[Mapping[str, Any]],
    key: int,
    picture_sha256: str,
    target: Mapping[str, Any] | None = None,
) -> str:
    """Return the content hash of a version."""
    texts = [option["text"] for option in options]
    content: list[object] = [question, texts, key, picture_sha256]
    if target is not None:
        content.append({name: target[name] for name in sorted(target)})
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
