"""What two sources say of a picture in their own words, read straight from their raw tables.

A plain reading: words are looked up clause by clause, and a clause that denies or doubts says
nothing for what it names. Nothing that the package makes of these words is asked.
"""

import csv
import re
from dataclasses import dataclass

SIGNS = {
    "Pleural Effusion": r"\b(pleural |small |minimal |parapneumonic )?eff?u[sc]ions?\b|empyema",
    "Consolidation": r"consol\w*dat\w+|hepati[sz]ation|shred sign",
    "B-lines": r"\bb[ -]?lines?\b|white ?lung|light.?beam|comet.tail|lung rocket",
    "A-lines": r"\ba[ -]?lines?\b|\ba-profile\b",
    "pleural line irregularity": (
        r"(irregular|thicken|thickened|unsmooth|broken|fragmented|discontinuous)\w*"
        r"( and \w+)?( of the)? ?pleura\w*|pleura\w*( ?line)?s? ?(is |and )?"
        r"(irregular|irrgeular|thicken|unsmooth|disrupt|abnormalit)\w*"
    ),
    "air bronchogram": r"bronch\w*gram",
}
COLUMNS = {
    "Pleural Effusion": "Effusion",
    "Consolidation": "Consolidations",
    "B-lines": "B-lines",
    "A-lines": "A-lines",
    "pleural line irregularity": "Pleural line irregularities",
    "air bronchogram": "Air bronchogram",
}
HEALTHY = (
    r"\b(normal|healthy)( \w+)? lungs?\b|^\W*(normal|healthy)\W*$"
    r"|lungs? (\w+ ){0,2}(normal|healthy)"
)
HEALTHY_CONCEPT = "healthy lung"
COMMENTS = ("Comments from web site", "Comments first medical doctor (MD1)", "MD2", "MD3")
NOTES = ("clinical_notes", "other_notes", "notes")
DENIED = re.compile(r"\b(no|not|without|never|absence|absent|loss|neither|nor|free|rather)\b|n't\b")
DOUBTED = re.compile(
    r"\b(maybe|perhaps|possibl[ey]|probabl[ey]|probable|likely|unsure|sure|unlikely|suspected)\b"
    r"|\b(could|may|might|cannot|underlying|non|rest|adjacent|sick)\b|\?"
)
CLAUSES = re.compile(r"[.;,:!/\n()]+(?!\d)|\bbut\b|\bthen\b|\bvs\b")
ABOUT_FILM = re.compile(
    r"\b(radiograph\w*|x-?rays?|film|cxr|study|appearances|examination|thoracic)\b|^\W*lungs\b"
)
IS_NORMAL = re.compile(
    r"\b(normal|unremarkable|within normal limits)\b|\blungs( and pleural spaces)?( are)? clear\b"
    r"|\b(no|not show|without) (\w+ )?(abnormal|abnormalit)"
)
NOT_WHOLE = re.compile(
    r"not shown|\b(left|right) lung|physical|heart|cardi|contour|profile|blood|range|breath"
    r"|nearly|almost|ventric|volume|\bct\b|lab|clinical findings|language|initially|prior to"
    r"|admission|electro|ultrasound|temperature|initial radiographic|pressure|initial chest"
)
ALONE = re.compile(r"\W*(unremarkable|normal|normal (appearances|examination))\W*")


@dataclass(frozen=True)
class Row:
    """One row of a table: the picture it tells of, its words, and its cells."""

    name: str
    words: tuple[str, ...]
    cells: dict[str, str]

    def asserts(self, pattern):
        """Words that name something without denying or doubting it, or nothing."""
        for text in self.words:
            for clause in CLAUSES.split(text.casefold()):
                match = re.search(pattern, clause)
                if match and not (DENIED.search(clause) or DOUBTED.search(clause)):
                    return clause.strip()
        return ""

    def calls_film_normal(self):
        """The sentence that calls the whole film normal, or nothing."""
        for text in self.words:
            for line in re.split(r"(?<=[.;])\s+|\n", text.casefold()):
                whole = ABOUT_FILM.search(line) and IS_NORMAL.search(line)
                if ALONE.fullmatch(line) or (whole and not NOT_WHOLE.search(line)):
                    return line.strip()
        return ""


def lung_ultrasound(table):
    """Rows of the table of pocus-lung; the name of a file is one of its words."""
    for cells in _read(table):
        name = cells["Filename"]
        title = re.sub(r"[_+]|(?<=[a-z])(?=[A-Z])", " ", name)
        words = [cells.get(column) or "" for column in COMMENTS]
        yield Row(name, (*words, title), cells)


def chest_films(table):
    """Rows of the table of covid-chestxray."""
    for cells in _read(table):
        words = tuple(cells.get(column) or "" for column in NOTES)
        yield Row(cells["filename"], words, cells)


def contradicted_cells(rows):
    """Names and signs of cells that hold a zero where the words of their row name the sign."""
    return [
        (row.name, concept, statement)
        for row in rows
        for concept, column in COLUMNS.items()
        if row.cells[column] == "0" and (statement := row.asserts(SIGNS[concept]))
    ]


def sign_faults(item, row):
    """Options of an item on lung ultrasound that the words of its row contradict."""
    for number, option in enumerate(item.options):
        if number == item.key:
            continue
        pattern = SIGNS.get(option.concept) or HEALTHY * (option.concept == HEALTHY_CONCEPT)
        statement = row.asserts(pattern) if pattern else ""
        if statement:
            yield f"{row.name}: {option.concept!r} is a wrong option, the row says {statement!r}"
    key = item.options[item.key].concept
    ill = ("Consolidation", "Pleural Effusion")
    if key == HEALTHY_CONCEPT and any(row.asserts(SIGNS[sign]) for sign in ill):
        yield f"{row.name}: {key!r} is the key, the row names a consolidation or an effusion"


def film_faults(item, row):
    """Whether a film that its row calls normal is asked for what it does not show, or denied."""
    is_normal = row.calls_film_normal()
    normal = {"No Finding", "lung involvement 0 of 8"}
    diagnostic = {"Abnormality Diagnosis", "Disease Diagnosis", "Severity Grading"}
    if not is_normal or item.task not in diagnostic:
        return
    concepts = [option.concept for option in item.options]
    key = concepts.pop(item.key)
    if key not in normal:
        yield f"{row.name}: {key!r} is the key, the row says {is_normal!r}"
    for concept in normal.intersection(concepts):
        yield f"{row.name}: {concept!r} is a wrong option, the row says {is_normal!r}"


def _read(table):
    with table.open(encoding="utf-8", errors="replace", newline="") as file:
        return list(csv.DictReader(file))
