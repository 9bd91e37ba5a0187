"""BrixIA: six zones of both lungs, each graded 0 to 3, and their sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from medrcube.errors import ReadError, RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Skip
from medrcube.sources._formats.dicom.headers import read_header
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._formats.tables.rows import cases_or_skip, group_by_name, skip_if_unnamed
from medrcube.sources._formats.tables.tables import (
    TableRow,
    find_optional_table,
    find_table,
    iter_csv,
)
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

_ZONES = "ABCDEF"
_GLOBAL = ("Filename", "BrixiaScore", "BrixiaScoreGlobal", "ConsensusTestset", "Subject")
_CONSENSUS = ("Filename", "MeanGlobal", "ModeGlobal", *(f"Mode{zone}" for zone in _ZONES))
_PUBLIC = tuple(f"{who}-{what}" for who in "SJ" for what in (*_ZONES, "Global"))
CARD = own_card(__file__)
_NEAR = CARD.integer("near_points")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A score, whether readers agree on it, and the zone grades of each reader."""

    score: float
    agreed: bool
    zones: tuple[str, ...]
    place: str

    def labels(self) -> Iterator[Label]:
        state = LabelState.PRESENT if self.agreed else LabelState.UNKNOWN
        yield self._label("score", f"{self.score:g}", state)
        for zone, digits in zip(_ZONES, zip(*self.zones, strict=True), strict=True):
            state = LabelState.PRESENT if len(set(digits)) == 1 else LabelState.UNKNOWN
            for digit in dict.fromkeys(digits):
                yield self._label(f"zone_{zone.lower()}", digit, state)
        yield self._label("pattern", "interstitial", self._state(some="123", none="123"))
        yield self._label("pattern", "alveolar", self._state(some="3", none="23"))

    def _state(self, *, some: str, none: str) -> LabelState:
        """Present if all readers gave one of ``some``, absent if none gave any of ``none``."""
        if all(not set(some).isdisjoint(zones) for zones in self.zones):
            return LabelState.PRESENT
        any_reader = any(not set(none).isdisjoint(zones) for zones in self.zones)
        return LabelState.UNKNOWN if any_reader else LabelState.ABSENT

    def _label(self, field: str, value: str, state: LabelState) -> Label:
        evidence = f"{self.place} zones {'/'.join(self.zones)}, score {self.score:g}"
        return Label(field=field, value=value, state=state, evidence=evidence)


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield a case or a skip for every row of the score table, in table order."""
    if layout == "public":
        yield from _public(root)
        return
    films, read_by_all = _films(root), find_optional_table(root, "panel")
    panel: dict[str, TableRow] = {}
    if read_by_all is not None:
        rows = iter_csv(read_by_all, columns=_CONSENSUS)
        rows_of, skips = group_by_name(rows, "Filename", opens=("pattern",))
        panel = {_stem(film): own[0] for film, own in rows_of.items()}
        yield from skips
    for row in iter_csv(find_table(root, "scores"), columns=_GLOBAL):
        if skip := skip_if_unnamed(row, "Filename"):
            yield skip
            continue
        key = _stem(row["Filename"])
        path = films.get(key, root / "dicom_clean" / f"{key}.dcm")
        yield from cases_or_skip(partial(_film, row, path, panel), key=key, paths=(path,))


def _film(row: TableRow, path: Path, panel: Mapping[str, TableRow]) -> Iterator[Case | Skip]:
    key, zones = _stem(row["Filename"]), row.name("BrixiaScore").zfill(len(_ZONES))
    if not _sound(zones, row["BrixiaScoreGlobal"]):
        reason = f"{row.quote('BrixiaScoreGlobal')}: zones {redact_cell(zones)} do not add up to it"
        yield Skip(key=key, reason=reason, paths=(path,))
        return
    read_by_panel = row.meaning("ConsensusTestset", {"1": True, "0": False, "": False})
    if panel and read_by_panel and key not in panel:
        raise RowError(f"{row.quote('ConsensusTestset')}: the table of the panel has no row of it")
    reading = _of_panel(panel[key]) if key in panel else _of_single_reader(row, zones)
    labels = tuple(reading.labels())
    if read_by_panel and key not in panel:  # another of the five readers may have seen it
        labels = tuple(
            replace(label, state=LabelState.UNKNOWN) if label.state is LabelState.ABSENT else label
            for label in labels
        )
    yield Case(
        key=key,
        images=(ImageRef(paths=(path,)),),
        patient=row.name("Subject"),
        labels=(*_view(path), *labels),
        split="test" if read_by_panel else None,
        facts=_facts(row),
    )


def _public(root: RawTree) -> Iterator[Case | Skip]:
    table = find_table(root, "scores")
    rows = iter_csv(table, columns=("filename", *_PUBLIC))
    rows_of, skips = group_by_name(rows, "filename")
    yield from skips
    for name in sorted(rows_of):
        path, key = table.parent / "public-cohen-subset" / name, f"public-{name}"
        for row in rows_of[name]:
            yield from cases_or_skip(partial(_public_film, row, key, path), key=key, paths=(path,))


def _public_film(row: TableRow, key: str, path: Path) -> Iterator[Case | Skip]:
    zones = tuple("".join(row[f"{who}-{zone}"] for zone in _ZONES) for who in "SJ")
    totals = [row[f"{who}-Global"] for who in "SJ"]
    if not all(_sound(*pair) for pair in zip(zones, totals, strict=True)):
        yield Skip(key=key, reason=f"{row.place}: zones do not add up to the score", paths=(path,))
        return
    senior, junior = map(int, totals)
    reading = _Reading(
        score=(senior + junior) / 2,
        agreed=abs(senior - junior) <= 2 * _NEAR,
        zones=zones,
        place=f"{row.table}:{row.line}",
    )
    images = (ImageRef(paths=(path,)),)
    yield Case(key=key, images=images, labels=tuple(reading.labels()))


def _of_single_reader(row: TableRow, zones: str) -> _Reading:
    place = f"{row.table}:{row.line} {row.cite('BrixiaScore')}"
    return _Reading(score=float(row["BrixiaScoreGlobal"]), agreed=True, zones=(zones,), place=place)


def _of_panel(row: TableRow) -> _Reading:
    """Return the majority of five radiologists; the modal score need not equal the zone sum."""
    mean, mode = row.number("MeanGlobal"), row.number("ModeGlobal")
    zones = "".join(f"{row.number(f'Mode{zone}'):g}" for zone in _ZONES)
    return _Reading(
        score=mode,
        agreed=abs(mean - mode) <= _NEAR,
        zones=(zones,),
        place=f"{row.table}:{row.line}",
    )


def _sound(zones: str, total: str) -> bool:
    digits = len(zones) == len(_ZONES) and set(zones) <= set("0123")
    return digits and total in {str(sum(map(int, zones))), f"{sum(map(int, zones))}.0"}


def _view(path: Path) -> Sequence[Label]:
    """Return the view stated in the film's header; a broken file is reported at rendering."""
    try:
        view = read_header(path, ("ViewPosition",)).get("ViewPosition")
    except ReadError:
        return ()
    if view not in {"AP", "PA"}:
        return ()
    return (Label(field="view", value=view, evidence=f"{path.name} ViewPosition={view}"),)


def _facts(row: TableRow) -> tuple[tuple[str, str], ...]:
    facts = row.facts(sex="Sex")
    band = row.get("AgeAtStudyDateFiveYear", "")
    if band.isdigit():  # index of a five-year band, not an age
        facts += (("age", f"{5 * int(band)}-{5 * int(band) + 4}"),)
    return facts


def _films(root: RawTree) -> Mapping[str, Path]:
    return {_stem(path.name): path for path in root.part("films")}


def _stem(name: str) -> str:
    return name[:-4] if name.lower().endswith(".dcm") else name
