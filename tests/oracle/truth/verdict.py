"""Could an option be true of a picture?

An option COULD BE TRUE unless it is derivably false. It is derivably false when

a. it is read as absent of this very thing, at the level of the question or a wider one: in words,
   or by a reader who filled a list (absence = reader) and left it out;
b. it, or something that it implies, is excluded by something that is true, or is another member
   of an exclusive group of which one member is stated;
c. the card says that silence of its field means absence, and the field does not name it. A list
   that readers filled says so only of pictures of which it says anything.

That is not enough where the truth is near: an option is refused as well when it is true, implied
by something true, open (unknown, or implied by something unknown), when it implies something true
without being read as absent itself, when it looks like something true and the same reader did not
read it as absent, when its words are part of a true name or hold one, when it stands for "other",
or when such a picture cannot show it.
"""

from dataclasses import dataclass

from truth.facts import Statement, is_exhaustive
from truth.tables import ONE_LABEL_A_PIXEL

from medrcube.fact_kind import FactKind
from medrcube.facts import Absence, Grade, LabelState

SAFE = ("absent", "excluded", "exhaustive", "another part")


@dataclass(frozen=True)
class Verdict:
    """Rule that decides on an option, and the evidence in words."""

    rule: str
    words: str

    @property
    def safe(self):
        return self.rule in SAFE


def judge(tables, picture, field, level, concept):
    """Whether a wrong option of a question on a whole picture may stand.

    Args:
        tables: what follows from what.
        picture: what the source says of it.
        field: card field that the question is about; ``None`` for the modality.
        level: what the question is about, a ``Scope``.
        concept: of the option.
    """
    verdict = _true_or_open(tables, picture, concept) or _out_of_sight(tables, picture, concept)
    if verdict is not None:
        return verdict
    proof = _excluded(tables, picture, field, level, concept)
    if proof is not None and _by_own_group(tables, proof, field):
        return Verdict("excluded", f"{proof[0]} excludes it in {proof[1]!r}")
    denied = _denied(tables, picture, level, concept)
    near = _near(tables, picture, concept, denied)
    if near is not None:
        return near
    if denied:
        return Verdict("absent", f"read as absent: {denied[0]}")
    if proof is not None:
        return Verdict("excluded", f"{proof[0]} excludes {proof[2]!r} in {proof[1]!r}")
    detail = _read(tables, picture, level, concept)
    if detail is not None:
        return Verdict("exhaustive", detail)
    return Verdict("silent", f"nothing says that {concept!r} is absent")


def judge_part(tables, marked, concept, marked_concepts, card):
    """Whether a wrong name for an outlined part may stand.

    Args:
        tables: what follows from what.
        marked: concept of the outlined region.
        concept: of the option.
        marked_concepts: concepts of all regions that are marked on the shown slice.
        card: of the source.
    """
    if tables.same(concept, marked):
        return Verdict("true", f"{marked!r} is outlined")
    if concept in tables.above(marked):
        return Verdict("implied", f"{marked!r} is outlined and a part of {concept!r}")
    if marked in tables.above(concept):
        return Verdict("downward", f"{concept!r} is a part of {marked!r}, which is outlined")
    groups = tables.groups_between(marked, concept)
    # The organ of a picture is one; the outlines on it are many.
    if groups - {"organ"}:
        return Verdict("excluded", f"excluded in {sorted(groups)}")
    if tables.look_alike(concept, marked):
        return Verdict("look-alike", f"{concept!r} lies across {marked!r}")
    if any(tables.same(concept, entry) for entry in marked_concepts):
        return Verdict("another part", f"{concept!r} is marked elsewhere on this slice")
    for field in card.fields.values():
        own = [entry for entry in field.concepts() if tables.same(concept, entry)]
        if own and field.kind == FactKind("structure") and is_exhaustive(field):
            return Verdict("another part", f"field {field.name!r} marks every {concept!r}")
    if groups:
        return Verdict("excluded", f"excluded in {sorted(groups)}")
    return Verdict("silent", f"nothing says that the outline is not {concept!r}")


def _true_or_open(tables, picture, concept):
    """Why the option is or may be true by what is said; or nothing."""
    for truth in picture.having(LabelState.PRESENT):
        if tables.same(concept, truth.concept):
            return Verdict("true", f"stated: {truth}")
        if concept in tables.above(truth.concept):
            return Verdict("implied", f"{truth} implies {concept!r}")
    for open_label in picture.having(LabelState.UNKNOWN):
        if concept in tables.above(open_label.concept):
            return Verdict("unknown", f"left open: {open_label}")
    return None


def _out_of_sight(tables, picture, concept):
    """Whether such pictures show the option beside what they are of, or cannot show it."""
    for table, rule in ((tables.shown_places, "shown"), (tables.hidden, "hidden")):
        if tables.is_listed(table, concept, picture.anatomy, picture.modality):
            return Verdict(rule, f"visible.csv: {picture.anatomy} {picture.modality}")
    return None


def _excluded(tables, picture, field, level, concept):
    """A statement, the group and the concept through which the option is excluded; or nothing."""
    named = {entry.group for entry in picture.card.fields.values() if entry.group} | {"modality"}
    value = None
    for truth in picture.having(LabelState.PRESENT):
        if truth.scope < level:
            continue
        for higher in tables.above(truth.concept):
            for mine in tables.above(concept):
                groups = tables.groups_between(higher, mine)
                # What one source never combines another may.
                groups = {
                    entry for entry in groups if entry in named or entry not in tables.cliques
                }
                groups -= ONE_LABEL_A_PIXEL - {field.group if field else None}
                for group in sorted(groups):
                    proof = (truth, group, mine)
                    if _by_own_group(tables, proof, field):
                        return proof
                    value = value or proof
    return value


def _by_own_group(tables, proof, field):
    """Whether the reader who chose the answer from a group thereby denied the option."""
    truth, group, _ = proof
    own, name = (field.group, field.name) if field else ("modality", "")
    return group == own and truth.field == name and group in tables.cliques


def _denied(tables, picture, level, concept):
    """Statements that the option is absent; where a reader fills a list, silence is one."""
    facts = [
        fact
        for fact in picture.having(LabelState.ABSENT)
        if tables.same(fact.concept, concept) and fact.scope >= level
    ]
    for field in picture.card.fields.values():
        if field.absence is Absence.READER and _passes_over(tables, picture, field, concept):
            silent = (
                LabelState.ABSENT,
                field.name,
                field.scope,
                Grade.A,
                "the list does not name it",
            )
            facts += [Statement(concept, *silent)] if field.scope >= level else []
    return facts


def _near(tables, picture, concept, denied):
    """A reason why the option is too near to something true, whatever is silent about it."""
    for truth in picture.having(LabelState.PRESENT):
        if not truth.field:
            continue
        if truth.concept in tables.above(concept) and not denied:
            return Verdict("downward", f"{concept!r} implies {truth}")
        by_same = any(_same_reader(entry, truth) and entry.grade is Grade.A for entry in denied)
        for true in tables.above(truth.concept):
            if tables.look_alike(concept, true) and not by_same:
                return Verdict("look-alike", f"{concept!r} looks like {true!r}; {truth}")
        mine, other = tables.words(concept), tables.words(truth.concept)
        if _is_medical(picture, truth) and (mine <= other or other <= mine):
            return Verdict("words", f"{sorted(mine)} and {sorted(other)}; {truth}")
    if tables.is_rest_or_joined(concept):
        return Verdict("rest", f"{concept!r} stands for more than one thing")
    return None


def _is_medical(picture, truth):
    """Whether a word shared with it is a hint: "breast" of a picture of a breast is none."""
    kind = picture.card.fields[truth.field].kind
    return kind in {FactKind("finding"), FactKind("disease"), FactKind("severity")}


def _same_reader(absent, truth):
    """Statements of one field, or of one line of a table, are of one reader."""
    return absent.field == truth.field or absent.place.split()[0] == truth.place.split()[0]


def _read(tables, picture, level, concept):
    """Where the card says that silence means absence; or nothing."""
    for field in picture.card.fields.values():
        wide = is_exhaustive(field) and field.scope >= level
        if wide and _passes_over(tables, picture, field, concept):
            return f"field {field.name!r} is read exhaustively and does not name it"
    return None


def _passes_over(tables, picture, field, concept):
    """Whether a field that could name the option does not, on a picture that it tells of."""
    return (
        (field.absence is Absence.IMPLIED or picture.spoken(field.name))
        and picture.names_nothing_else(field.name)
        and any(tables.same(concept, entry) for entry in field.concepts())
    )
