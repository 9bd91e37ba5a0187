"""Open-i reports in XML: films, captions, manual codes and text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from medrcube.facts import Words
from medrcube.sources._formats.bounded_xml import read_xml

__all__ = ["CodedReport", "read_report"]

_SECTIONS = ("FINDINGS", "IMPRESSION")
"""Report sections about the films; the indication only states what was looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedReport:
    """One report.

    Attributes:
        identity: report id, such as ``CXR12``; empty if the file has none.
        images: id of each film, in order.
        captions: captions without duplicates; they describe the examination, not the single film.
        codes: codes without duplicates, ``head/qualifier/qualifier`` in lower case, single spaces.
        words: findings and impression.
    """

    identity: str
    images: tuple[str, ...]
    captions: tuple[str, ...]
    codes: tuple[str, ...]
    words: tuple[Words, ...]


def read_report(path: Path) -> CodedReport:
    """Read one report, without the automatic index terms (``MeSH/automatic``).

    Raises:
        RowError: the file is not valid XML, or cannot be read safely.
    """
    root = ET.fromstring(read_xml(path))  # noqa: S314 - read_xml refuses entities and excess
    identity = root.find("uId")
    codes = (_tidy(code.text or "") for code in root.iterfind("MeSH/major"))
    return CodedReport(
        identity="" if identity is None else identity.get("id", ""),
        images=tuple(image.get("id", "") for image in root.iter("parentImage")),
        captions=tuple(
            dict.fromkeys(caption.text for caption in root.iter("caption") if caption.text)
        ),
        codes=tuple(dict.fromkeys(codes)),
        words=tuple(
            Words(name=part.get("Label", "").lower(), text=part.text, evidence=path.name)
            for part in root.iter("AbstractText")
            if part.text and part.get("Label") in _SECTIONS
        ),
    )


def _tidy(code: str) -> str:
    return "/".join(" ".join(part.split()).lower() for part in code.split("/"))
