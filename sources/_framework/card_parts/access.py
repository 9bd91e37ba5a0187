"""``[access]`` of a card: how the data are obtained, and their licence."""

from __future__ import annotations

from dataclasses import dataclass

from medrcube.files.toml_reader import TomlTable

__all__ = ["ACCESS_MODES", "Access", "Statement", "parse_access"]

ACCESS_MODES = ("open", "form", "account", "credentialed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement on rights from a licence text or the owner.

    Attributes:
        says: content of the statement, in one sentence.
        place: URL, DOI or file in which the owner made it.
        read: where it was read: that place itself, or a text that quotes it.
    """

    says: str
    place: str
    read: str

    @property
    def quoted(self) -> bool:
        """Whether it was read in a quotation and not at its original place."""
        return self.read != self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the data are obtained and what may be done with them.

    Attributes:
        mode: ``open``, ``form``, ``account`` or ``credentialed``.
        licence: SPDX identifier or ``LicenseRef-...``.
        redistribute: whether rendered images may be redistributed; needs a basis.
        rows: what decides for each image, if rights differ by row; else empty.
        basis: statement of the owner on the rights, or ``None`` if none has been seen.
        unknown: what is not known about the rights, in one sentence; may be empty.
        steps: steps to obtain the data, in order.
    """

    mode: str
    licence: str
    redistribute: bool
    rows: str
    basis: Statement | None
    unknown: str
    steps: tuple[str, ...]

    @property
    def passed_on(self) -> str:
        """Whether images may be redistributed: ``yes``, ``no`` or ``by row``."""
        if self.rows:
            return "by row"
        return "yes" if self.redistribute else "no"

    def describe(self) -> str:
        """Return the known and unknown rights as sentences without line breaks."""
        sentences = []
        if self.basis:
            place = f"quoted from {self.basis.place} by" if self.basis.quoted else "see"
            says = self.basis.says.rstrip(".")
            sentences.append(f"{says[:1].upper()}{says[1:]} ({place} {self.basis.read}).")
        else:
            sentences.append("No licence text or statement by the owner has been seen.")
        if self.rows:
            sentences.append(f"Rights differ by row: {self.rows.rstrip('.')}.")
        if self.unknown:
            sentences.append(f"Not known: {self.unknown.rstrip('.')}.")
        return " ".join(sentences)


def parse_access(table: TomlTable) -> Access:
    """Parse ``[access]``.

    Raises:
        CardError: a key is wrong, or redistribution is claimed without a basis.
    """
    redistribute = table.flag("redistribute")
    rows = table.text("rows", default="")
    if redistribute and not table.has("basis"):
        table.fail(
            "redistribute",
            "false, or a basis: what the licence text or the owner says, as "
            'basis = { says = "...", place = "https://...", read = "https://..." }',
            redistribute,
        )
    if redistribute and rows:
        table.fail("rows", "redistribute = false where rows decide", redistribute)
    basis = table.table("basis") if table.has("basis") else None
    return Access(
        mode=table.text("mode", choices=ACCESS_MODES),
        licence=table.text("licence"),
        redistribute=redistribute,
        rows=rows,
        basis=None if basis is None else _statement(basis),
        unknown=table.text("unknown", default=""),
        steps=table.texts("steps", least=1),
    )


def _statement(table: TomlTable) -> Statement:
    place = table.text("place")
    return Statement(says=table.text("says"), place=place, read=table.text("read", default=place))
