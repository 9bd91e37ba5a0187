"""What a card says of its fields: what silence proves, and what a reader of a picture can know.

Silence is never evidence by itself. Read from the text of each card, so that nothing the package
makes of it is believed.
"""

import tomllib

from truth.facts import Statement, is_exhaustive

from medrcube.fact_kind import FactKind
from medrcube.facts import LabelState

NORMAL = "No Finding"
MINED = {
    "chexpert": "train.csv",
    "mimic-cxr-jpg": "",
    "nih-chestxray14": "",
    "padchest": "",
}
"""Sources whose labels of findings and diseases were read from reports -> the table it is true of.

CheXpert: arXiv 1901.07031 (its other tables are of radiologists); MIMIC-CXR-JPG: arXiv 1901.07042;
ChestX-ray14: doi 10.1109/CVPR.2017.369; PadChest: arXiv 1901.07441.
"""
MEDICAL = {FactKind("finding"), FactKind("disease")}
TRUSTED = {"A", "B"}


def read_card(folder):
    """A card as TOML, nothing more."""
    return tomllib.loads((folder / "card.toml").read_text("utf-8"))


def card_faults(card):
    """Fields that trust silence, or a zero, without saying why and where that stands."""
    for field in card.get("field", ()):
        claims = [("absence", field.get("absence") in {"reader", "implied"})]
        claims.append(("stated", "stated" in field))
        for key, is_needed in claims:
            reason = field.get("reasons", {}).get(key, {})
            if is_needed and not all(
                reason.get(part, "").strip() for part in ("reason", "evidence")
            ):
                yield f"{card['id']} {field['name']}: {key} = {field[key]!r} without a reason"


def sight_faults(item, card):
    """Whether an item asks what its picture cannot show, or hides that it shows it in part."""
    fields = {field["name"]: field for field in card["field"]}
    visible = fields[item.field]["visible"] if item.field else "yes"
    if visible == "no":
        yield f"{item.source} {item.field}: a reader of the picture could not know it"
    elif item.visible != visible:
        yield f"{item.source} {item.field}: visible {visible!r}, marked {item.visible!r}"


def silence_faults(tables, picture, item, card):
    """Wrong options of an item on a whole picture that rest on what nobody said.

    Args:
        tables: what follows from what.
        picture: what the source says of it.
        item: the item.
        card: TOML of its source.
    """
    fields = {field["name"]: field for field in card["field"]}
    if item.field not in fields or picture.card.fields[item.field].kind not in MEDICAL:
        return
    for number, option in enumerate(item.options):
        if number == item.key or _denied(tables, picture, fields, option.concept):
            continue
        proofs = [
            fact
            for fact in picture.having(LabelState.PRESENT)
            if _excludes(tables, picture, fact, option.concept)
        ]
        if proofs and all(_is_mined_normal(picture, item.source, proof) for proof in proofs):
            yield f"{option.text!r} rests on a mined {NORMAL!r} ({proofs[0].place})"
        elif not proofs and not _is_read(tables, picture, fields, option.concept):
            yield f"{option.text!r} rests on silence"


def _denied(tables, picture, fields, concept):
    """Whether the option is stated as absent, by somebody whom the card trusts with reasons."""
    for fact in picture.having(LabelState.ABSENT):
        if fact.field and tables.same(fact.concept, concept):
            field = fields[fact.field]
            if field.get("stated", "C") in TRUSTED and "stated" in field.get("reasons", {}):
                return True
    return False


def _excludes(tables, picture, truth: Statement, concept):
    """Whether something true excludes the option, in a group that holds for this source."""
    named = {field.group for field in picture.card.fields.values() if field.group}
    for higher in tables.above(truth.concept):
        for mine in tables.above(concept):
            groups = tables.groups_between(higher, mine)
            if any(group in named or group not in tables.cliques for group in groups):
                return True
    return False


def _is_mined_normal(picture, source, truth):
    """Whether a statement is a "No Finding" that somebody read from the words of a report."""
    table = MINED.get(source)
    return table is not None and truth.concept == NORMAL and truth.place.startswith(table)


def _is_read(tables, picture, fields, concept):
    """Whether a field could name the option, does not, and says why that means absence."""
    for name, field in picture.card.fields.items():
        reason = fields[name].get("reasons", {}).get("absence")
        could = any(tables.same(concept, entry) for entry in field.concepts())
        if could and is_exhaustive(field) and reason:
            return True
    return False
