"""Keyset pagination: page 2,000 is as fast as page 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest

__all__ = ["SIZE", "ListPage", "page_of", "query_text"]

SIZE = 50


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list.

    Attributes:
        rows: rows in list order.
        before: key whose predecessors form the previous page; ``None`` on the first page.
        after: key whose successors form the next page; ``None`` on the last page.
    """

    rows: Sequence[Any]
    before: Any = None
    after: Any = None


def page_of(
    rows: QuerySet[Any, Any], request: HttpRequest, key: str, *, newest_first: bool = False
) -> ListPage:
    """Return the page selected by the query parameter ``after`` or ``before``.

    Args:
        rows: query of dictionaries (``values``), unordered.
        request: request with the parameters.
        key: unique column by which the list is ordered.
        newest_first: whether the order is descending.
    """
    back, end = query_text(request, "before"), query_text(request, "after")
    backwards = bool(back)
    falling = newest_first != backwards
    if back or end:
        side = "lt" if falling else "gt"
        rows = rows.filter(**{f"{key}__{side}": _key(back or end, number=newest_first)})
    page = list(rows.order_by(f"-{key}" if falling else key)[: SIZE + 1])
    more, page = len(page) > SIZE, page[:SIZE]
    if backwards:
        page.reverse()
    earlier = more if backwards else bool(end)
    later = True if backwards else more
    return ListPage(
        page,
        before=page[0][key] if page and earlier else None,
        after=page[-1][key] if page and later else None,
    )


def query_text(request: HttpRequest, name: str) -> str:
    """Return a query parameter, stripped.

    Raises:
        BadRequest: it contains NUL, which the databases cannot handle.
    """
    value = request.GET.get(name, "").strip()
    if "\0" in value:
        raise BadRequest(f"{name} holds a NUL")
    return value


def _key(text: str, *, number: bool) -> str | int:
    if not number:
        return text
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise BadRequest("the place in the list is not a number")
    return int(text)
