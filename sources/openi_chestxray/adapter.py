"""Open-i: coded reports, each with the film that its header and its paired film prove frontal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Case, ImageRef, Label, LabelState, Scope, Skip
from medrcube.sources._formats.dicom.headers import header_value
from medrcube.sources._formats.openi_xml import read_report
from medrcube.sources._formats.tables.rows import (
    cases_or_skip,
    check_no_finding,
    group_optional_table,
)
from medrcube.sources._formats.tables.tables import TableRow, natural_key
from medrcube.sources._framework.own_card import own_card
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

CARD = own_card(__file__)
_FILM, _SAYS_AP = CARD.pattern("film", "patient", "film"), CARD.pattern("says_ap")
_FRONT, _SIDE = CARD.names("frontal"), CARD.names("lateral")
_QUALIFIED, _HINTS, _DISEASES = map(frozenset, map(CARD.names, ("kept", "hints", "diseases")))
_GRADES, _UNFIT = CARD.names("grades"), frozenset(CARD.names("unfit"))
_SORTED = {"Frontal": "frontal", "Lateral": "lateral"}
_NORMAL, _HEART = "normal", "cardiomegaly/"


def cases(root: RawTree, layout: str) -> Iterator[Case | Skip]:
    """Yield the films of each report, by report number."""
    del layout
    by_hand, nameless = group_optional_table(
        root, "projections", "filename", columns=("projection",)
    )
    yield from nameless
    films = root.stems("films")
    for path in sorted(root.part("reports"), key=natural_key):
        make = partial(_report, root, path, films, by_hand or {})
        yield from cases_or_skip(make, key=f"report {path.stem}", paths=(path,))


def _report(
    root: RawTree, path: Path, films: Mapping[str, Path], by_hand: Mapping[str, Sequence[TableRow]]
) -> Iterator[Case | Skip]:
    report = read_report(path)
    if report.identity != f"CXR{path.stem}":
        raise RowError(f"{path.name} uId: is not the number of the file; get the reports again")
    names = [_film_name(path, image) for image in report.images]
    places = {name: films.get(name, root / f"{name}.dcm") for name in names}
    codes = list(dict.fromkeys(map(_meaning, report.codes)))
    if not names or not _UNFIT.isdisjoint(codes):
        reason = "its readers call the films unfit" if names else "the report has no film"
        yield Skip(key=f"report {path.stem}", reason=reason, paths=(*places.values(),) or (path,))
        return
    labels = tuple(_labels(codes, f"{path.name} MeSH/major"))
    views = _views(places, by_hand, report.captions)
    for name, film in places.items():
        view = views.get(name, "")
        label = Label(field="view", value=view, evidence=f"{film.name} ViewPosition and its mate")
        yield Case(
            key=name,
            images=(ImageRef(paths=(film,)),),
            patient=path.stem,
            labels=(*labels, label) if view else labels,
            shows=Scope.IMAGE if view in {"", "lateral"} else Scope.STUDY,
            words=report.words,
            sidecars=(path,),
        )


def _film_name(path: Path, image: str) -> str:
    """Return the file stem of an image; two image ids have one number more than their file."""
    if (match := _FILM.fullmatch(image)) is None:
        raise RowError(f"{path.name} parentImage: names no film such as CXR1000_IM-0003-1001")
    return f"{match['patient']}_{match['film']}"


def _meaning(code: str) -> str:
    """Return the head of a code with the qualifiers that change its meaning."""
    head, *qualifiers = code.split("/")
    return "/".join([head, *(part for part in qualifiers if f"{head}/{part}" in _QUALIFIED)])


def _labels(codes: Sequence[str], evidence: str) -> Iterator[Label]:
    if _NORMAL in codes:
        check_no_finding(evidence, [code for code in codes if code != _NORMAL])
    for code in codes:
        grade = code.removeprefix(_HEART)
        if grade in _GRADES:
            yield Label(field="heart_size", value=grade, evidence=evidence)
        value = _HEART.strip("/") if grade in _GRADES else code
        state = LabelState.UNKNOWN if code in _HINTS else LabelState.PRESENT
        field = "disease" if code in _DISEASES else "finding"
        yield Label(field=field, value=value, state=state, evidence=evidence)


def _views(
    places: Mapping[str, Path], by_hand: Mapping[str, Sequence[TableRow]], captions: Sequence[str]
) -> Mapping[str, str]:
    """Return the proven views: labelled by hand, or by a paired film with the other view.

    The projection of a frontal film is unknown if its header says PA and a caption says AP.
    """
    stated = {name: header_value(film, "ViewPosition") for name, film in places.items()}
    sides = [name for name, view in stated.items() if view in _SIDE]
    fronts = [name for name, view in stated.items() if view in _FRONT]
    views = {
        name: row.meaning("projection", _SORTED)
        for name in places
        for row in by_hand.get(f"{name}.dcm.png", ())
    }
    if len(places) == 2 and len(sides) == len(fronts) == 1:
        if views.get(sides[0]) == "frontal" or views.get(fronts[0]) == "lateral":
            raise RowError(f"{sides[0]}: the table of projections contradicts ViewPosition")
        views[sides[0]] = "lateral"
        is_pa = stated[fronts[0]] == "PA" and not any(map(_SAYS_AP.fullmatch, captions))
        views[fronts[0]] = "PA" if is_pa else "frontal"
    return views
