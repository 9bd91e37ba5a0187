"""Every item of a build, held against the raw labels, the cards and the relation table."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations

from truth import marks as mark_checks
from truth.facts import Witness, is_exhaustive
from truth.numbers import pixels_of, reading_faults
from truth.tables import ONE_LABEL_A_PIXEL, read_tables
from truth.verdict import judge, judge_part

from medrcube.fact_kind import FactKind
from medrcube.facts import LabelState, Scope
from medrcube.sources._framework.contract import Source

KINDS = {
    "View Recognition": {FactKind("view")},
    "Imaging Protocols Recognition": {FactKind("protocol")},
    "Organ Recognition": {FactKind("structure")},
    "ROI Grounding": {FactKind("structure"), FactKind("finding"), FactKind("disease")},
    "Abnormality Diagnosis": {FactKind("finding")},
    "Disease Diagnosis": {FactKind("disease")},
    "Severity Grading": {FactKind("severity")},
}
HIGH = ("Abnormality Diagnosis", "Disease Diagnosis", "Severity Grading")
SUBJECTS = {
    Scope.BREAST: "breast",
    Scope.STUDY: "study",
    Scope.PATIENT: "patient",
}
NORMAL = "No Finding"
DEVICES = "Support Devices"
UNREADABLE = {"shape", "case", "field"}
"""Faults that leave nothing to ask further."""
ALWAYS_INSIDE = 0.9
"""A part of which nine tenths lie in another part could be called by its name."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with an item, with all that shows it."""

    rule: str
    item: str
    words: str

    def __str__(self):
        return f"{self.rule}: {self.words}\n    {self.item}"


class Oracle:
    """Judges items; ``tally`` counts the options examined by the rule that decided on each.

    Args:
        sources: source, raw root and layout of every source by its id.
        samples: samples by their id.
        boxes: corners of the boxes of each sample by its id, in pixels of its picture.
        windows: corners of the part of the clean picture that it shows, by its id.
        orders: image under each number of each sample with numbered images, by its id.
        workspace: folder that image paths start from.
        raw: what oracles over other builds of the same trees have read of them, and this one reads.
    """

    def __init__(self, sources, samples, boxes, windows, orders, workspace, raw=None):
        self._sources: dict[str, tuple[Source, object, str]] = sources
        self.samples, self.boxes, self.windows, self.orders = samples, boxes, windows, orders
        self._root = workspace
        self._origin: Oracle | None = None
        self._raw: dict[tuple, tuple[Witness, dict]] = {} if raw is None else raw
        self._witnesses: dict[str, Witness] = {}
        self._marks: dict[str, dict[tuple[str, str], mark_checks.Marks]] = {}
        self._clean = {
            (sample.source, sample.case, sample.frames): sample
            for sample in samples.values()
            if sample.artefact == "clean"
        }
        self.tables = read_tables()
        self.tally: Counter[str] = Counter()

    def fresh(self):
        """An oracle of the same inputs whose every view of them may be changed."""
        fresh = Oracle(
            self._sources,
            dict(self.samples),
            dict(self.boxes),
            dict(self.windows),
            dict(self.orders),
            self._root,
        )
        fresh._origin = self
        return fresh

    def examine(self, item):
        """All findings on one item."""
        sample = self.samples[item.sample]
        described = describe(item, sample)
        faults = [*self._shape(item), *self._source(item, sample)]
        if not UNREADABLE & {rule for rule, _ in faults}:
            marks = {
                "outline": self._outline,
                "boxes": self._grounding,
                "numbered": self._numbered,
            }
            ask = marks.get(sample.artefact)
            faults += (ask or self._whole)(item, sample)
        return [Finding(rule, described, words) for rule, words in faults]

    def witness(self, source):
        """All cases of one source."""
        if source not in self._witnesses and self._origin:
            self._witnesses[source], self._marks[source] = self._origin.witness(source).copy(), {}
        if source not in self._witnesses:
            own_frames = frozenset(
                (case, frame) for own, case, frame in self._clean if own == source
            )
            if (source, own_frames) not in self._raw:
                frames = defaultdict(set)
                for case, frame in own_frames:
                    frames[case].add(frame)
                self._raw[source, own_frames] = Witness(*self._sources[source], frames), {}
            self._witnesses[source], self._marks[source] = self._raw[source, own_frames]
        return self._witnesses[source]

    def picture(self, sample):
        """What is known of the picture of a sample."""
        witness = self.witness(sample.source)
        marks = self._marks_of(sample)
        marked = frozenset(
            (region.concept, region.field) for region in marks.regions if region.concept
        )
        return witness.picture(sample.case, sample.frames, marked)

    def _marks_of(self, sample):
        witness, place = self.witness(sample.source), (sample.case, sample.frames)
        marks = self._marks[sample.source]
        if place not in marks:
            marks[place] = mark_checks.Marks(witness, *place)
        return marks[place]

    def _shape(self, item):
        """Faults that show without a look at the source."""
        if not 2 <= len(item.options) <= 4 or not 0 <= item.key < len(item.options):
            yield "shape", f"{len(item.options)} options, key {item.key}"
            return
        if [n for n, entry in enumerate(item.options) if entry.strategy == "key"] != [item.key]:
            yield "key", "another option than the key is called the key"
        texts = Counter(" ".join(entry.text.casefold().split()) for entry in item.options)
        yield from (("duplicate", text) for text, count in texts.items() if count > 1)
        for first, second in combinations([entry for entry in item.options if entry.concept], 2):
            if set(first.ids) & set(second.ids):
                yield "duplicate", f"{first.text!r} and {second.text!r} share {first.ids}"
            if self.tables.same(first.concept, second.concept):
                yield "duplicate", f"{first.concept!r} and {second.concept!r} are one concept"
            for lower, higher in ((first, second), (second, first)):
                if higher.concept in self.tables.above(lower.concept):
                    yield "both true", f"{lower.concept!r} implies {higher.concept!r}"
        for option in item.options:
            if (
                option.concept
                and option.text.casefold() != self.tables.names[option.concept].casefold()
            ):
                yield "text", f"{option.text!r} is not the name of {option.concept!r}"

    def _source(self, item, sample):
        """Faults of level: what the picture cannot carry, or what the card bars."""
        witness = self.witness(item.source)
        quirks = witness.quirks(sample.case)
        if "drop" in quirks or ("undiagnosed" in quirks and item.task in HIGH):
            yield "barred", f"a quirk of the card bars the case: {sorted(quirks)}"
        if sample.source != item.source or sample.case not in witness.cases:
            yield "case", "the sample is of no case of the source"
            return
        if item.task == "Modality Recognition":
            return
        field = witness.card.fields.get(item.field)
        if field is None or field.kind not in KINDS[item.task]:
            yield "field", f"{item.field!r} is no field for the task"
            return
        case = witness.cases[sample.case]
        shows = case.shows or witness.card.shows
        if field.scope > shows:
            yield "level", f"a fact of a {field.scope.name}, on a picture that shows a {shows.name}"
        if field.scope.name.lower() != item.scope:
            yield "level", f"the field is of a {field.scope.name}, the item says {item.scope}"
        subject = SUBJECTS.get(field.scope, "")
        # A reader sees one film of a study, and a disease is the patient's whatever was imaged.
        alike = sample.modality == "X-ray" or item.task == "Disease Diagnosis"
        is_known = (field.scope is Scope.STUDY and alike) or subject in item.question.casefold()
        if item.task in HIGH and not is_known:
            yield "level", f"the question does not say that it is about the {subject}"
        if field.scope is Scope.SLICE and self._unsettled(sample, field):
            yield "level", "a fact of a slice, on several slices of one case"

    def _unsettled(self, sample, field):
        """Whether a label of one slice stands for several, and no region tells them apart."""
        frames = {entry[2] for entry in self._clean if entry[:2] == (sample.source, sample.case)}
        case = self.witness(sample.source).cases[sample.case]
        return len(frames) > 1 and not any(region.field == field.name for region in case.regions)

    def _whole(self, item, sample):
        """A question on a clean picture."""
        if sample.artefact != "clean":
            yield "mark", f"a question on a {sample.artefact} picture"
        picture = self.picture(sample)
        field = picture.card.fields.get(item.field)
        level = field.scope if field else Scope.IMAGE
        key = item.options[item.key]
        if item.concept != key.concept:
            yield "key", f"the item is about {item.concept!r}, its key is {key.concept!r}"
        yield from self._key(picture, field, level, key.concept)
        for number, option in enumerate(item.options):
            if number != item.key:
                verdict = judge(self.tables, picture, field, level, option.concept)
                yield from self._counted(option, verdict)

    def _key(self, picture, field, level, concept):
        """The key must be stated for this picture, and nothing may speak against it."""
        name = field.name if field else ""
        stated = [
            entry
            for entry in picture.statements
            if entry.field == name and entry.concept == concept
        ]
        if LabelState.PRESENT not in {entry.state for entry in stated}:
            yield "key", f"{concept!r} is not stated as present: {[str(entry) for entry in stated]}"
        for fact in picture.having(LabelState.ABSENT, LabelState.UNKNOWN):
            # A breast can hold what one of its slices does not.
            if self.tables.same(fact.concept, concept) and fact.scope >= level:
                yield "key", f"against {concept!r}: {fact}"
        if field is None:
            return
        clashes = [
            f"{entry} and {concept!r} in {sorted(groups)}"
            for entry in picture.having(LabelState.PRESENT)
            if entry.scope <= level and (groups := self._clash(picture, field, concept, entry))
        ]
        yield from (("key", clash) for clash in clashes)
        if field.scope is Scope.SLICE:
            yield from self._on_this_slice(picture, field, concept)
        if concept == NORMAL:
            yield from self._normal(picture)

    def _clash(self, picture, field, concept, text):
        """Groups in which a true statement excludes the key."""
        named = {entry.group for entry in picture.card.fields.values() if entry.group}
        groups = self.tables.groups_between(text.concept, concept)
        own = {field.group}
        # Of a joined value, such as ROUND-OVAL, every part is true.
        apart = own if text.field == field.name else ONE_LABEL_A_PIXEL - own
        return {
            group for group in groups if group in named or group not in self.tables.cliques
        } - apart

    def _on_this_slice(self, picture, field, concept):
        """Where masks tell on which slices a finding is, the shown one must be one of them."""
        drawn_at_all = {
            picture.card.fields[region.field].concept(region.value)
            for region in picture.case.regions
            if region.field == field.name
        }
        here = {name for name, _ in picture.marked}
        if concept in drawn_at_all and concept not in here:
            yield "key", f"{concept!r} is not marked on the shown slice"

    def _normal(self, picture):
        """Nothing else may be true or open; what is not named is then denied by implication."""
        for fact in picture.having(LabelState.PRESENT, LabelState.UNKNOWN):
            kind = picture.card.fields[fact.field].kind if fact.field else None
            if kind in {FactKind("finding"), FactKind("disease")} and not (
                {NORMAL, DEVICES} & self.tables.above(fact.concept) or "no " in fact.concept[:3]
            ):
                yield "key", f"{NORMAL!r} beside {fact}"

    def _outline(self, item, sample):
        """A question on what a red outline marks."""
        marks = self._marks_of(sample)
        card = self.witness(item.source).card
        drawn_here = [region.concept for region in marks.regions]
        key = item.options[item.key]
        if item.task != "Organ Recognition":
            yield "mark", f"{item.task} on an outline"
        if (key.concept, item.field, item.concept) != (sample.marked, sample.field, sample.marked):
            yield "key", f"{sample.marked!r} is marked, the key is {key.concept!r}"
        mask = marks.of(sample.marked, sample.field)
        if mask is None:
            yield "key", f"the slice does not show {sample.marked!r}"
            return
        clean = self._clean[sample.source, sample.case, sample.frames]
        paths = (self._root / clean.image, self._root / sample.image)
        yield from (("mark", fault) for fault in mark_checks.outline_faults(*paths, mask))
        yield from (("side", side) for side in self._sides(marks, sample))
        for number, option in enumerate(item.options):
            if number != item.key:
                verdict = judge_part(self.tables, sample.marked, option.concept, drawn_here, card)
                yield from self._counted(option, verdict)
                yield from self._covered(marks, mask, option.concept)

    def _covered(self, marks, mask, concept):
        for region in marks.regions:
            if self.tables.same(region.concept, concept):
                share = mark_checks.share_inside(mask, region.mask)
                if share > ALWAYS_INSIDE:
                    yield "covered", f"{share:.0%} of the outlined part are {concept!r} as well"

    def _grounding(self, item, sample):
        """A question on which of some numbered boxes holds a region."""
        marks = self._marks_of(sample)
        witness = self.witness(item.source)
        field = witness.card.fields[item.field]
        boxes = self.boxes[sample.id]
        if item.task != "ROI Grounding":
            yield "mark", f"{item.task} on numbered boxes"
        if [option.text for option in item.options] != [
            f"Box {n}" for n in range(1, len(boxes) + 1)
        ]:
            yield "options", f"{[option.text for option in item.options]} for {len(boxes)} boxes"
        if (item.key + 1, item.concept) != (int(sample.truth), sample.marked):
            yield "key", f"box {sample.truth} holds {sample.marked!r}"
        target = self.tables.targets[item.concept]
        if target.casefold() not in item.question.casefold():
            yield "text", f"the question does not ask for {target!r}"
        if not (is_exhaustive(field) or field.whole):
            yield "silent", f"field {field.name!r} may leave a second {item.concept!r} unmarked"
        picture = self.picture(sample)
        for fact in picture.having(LabelState.ABSENT, LabelState.UNKNOWN):
            if fact.concept == item.concept and fact.scope >= field.scope:
                yield "key", f"against {item.concept!r}: {fact}"
        faults = [
            *mark_checks.box_faults(self.tables, marks, sample, boxes, self.windows[sample.id]),
            *reading_faults(pixels_of(self._root / sample.image), boxes),
        ]
        yield from (("box", fault) for fault in faults)
        yield from (("side", side) for side in self._sides(marks, sample))
        self.tally["box"] += len(boxes) - 1

    def _numbered(self, item, sample):
        """A question on which of several numbered images shows a fact."""
        witness = self.witness(item.source)
        case = witness.cases[sample.case]
        order = self.orders[sample.id]
        if sorted(order) != list(range(len(case.images))):
            yield "mark", f"the order {order} is none of {len(case.images)} images"
            return
        entries = [witness.concept(label.field, label.value) for label in case.panels]
        holding = [place for place, image in enumerate(order) if entries[image] == item.concept]
        if holding != [item.key] or str(item.key + 1) != sample.truth:
            yield "key", f"images {holding} (from 0) show {item.concept!r}, the key is {item.key}"
        if [option.text for option in item.options] != [
            f"Frame {n}" for n in range(1, len(order) + 1)
        ]:
            yield "options", f"{[option.text for option in item.options]} for {len(order)} images"
        target = self.tables.targets[item.concept]
        if target.casefold() not in item.question.casefold():
            yield "text", f"the question does not ask for {target!r}"
        self.tally["panel"] += len(order) - 1

    def _sides(self, marks, sample):
        mask = marks.of(sample.marked, sample.field)
        if mask is None:
            return []
        return mark_checks.side_faults(sample.marked, mask, sample.anatomy, sample.modality)

    def _counted(self, option, verdict):
        self.tally[verdict.rule] += 1
        if not verdict.safe:
            yield verdict.rule, f"{option.concept!r} could be true. {verdict.words}"


def describe(item, sample):
    """An item in one line."""
    options = [
        f"{'*' if n == item.key else ''}{option.text}" for n, option in enumerate(item.options)
    ]
    return (
        f"{item.source} {sample.case!r} {item.task} [{item.field}] {item.question!r} "
        f"{json.dumps(options)}"
    )
