"""Item writer: option names, order and wording of a question, and its item record.

All questions of a block have the same wording; otherwise the wording would distinguish them. Their
options are named in one style: by the user's ontologies if every question of the block passes the
item-writing rules with these names, otherwise in this project's own wording. One wording is drawn
for the whole block; only a question that would break a rule in it gets the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from medrcube.build.questions.eligibility import CompatibleOptions, EligibleQuestion
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.item_table import KEY, UNREVIEWED, ChoiceItem, Option
from medrcube.build.questions.item_text import item_text
from medrcube.build.questions.option_blocks import BlockMember
from medrcube.build.questions.question_wording import (
    OptionName,
    own_names,
    preferred_names,
    wording_values,
)
from medrcube.ontologies.difficulty import Difficulty, hardest, is_scale
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.distractor_selection import seeded_tiebreak
from medrcube.ontologies.item_rules import ERROR, Flaw, lint
from medrcube.templates import Wordings, package_wordings

__all__ = ["ItemWriter", "WrittenItems"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenItems:
    """Items, and the questions that break an item-writing rule, each with the first such rule."""

    items: tuple[ChoiceItem, ...]
    failed: tuple[tuple[EligibleQuestion, str], ...]


class _FlawedError(Exception):
    """No wording passes the rules; the message is the reason that is counted."""


class ItemWriter:
    """Writes the items of one batch.

    Args:
        rules: tables and the user's ontologies.
        seed: decides wordings.
        words: source -> concept -> the dataset's own word.
        wordings: question templates; the package's own by default.
    """

    def __init__(
        self,
        rules: SafetyRules,
        *,
        seed: int,
        words: Mapping[str, Mapping[str, str]],
        wordings: Wordings | None = None,
    ) -> None:
        self._wordings = wordings or package_wordings()
        self._rules = rules
        self._seed = seed
        self._words = words
        self._versions = rules.knowledge.editions()
        self._names: dict[frozenset[str], Sequence[Mapping[str, OptionName]]] = {}

    def block(self, members: Sequence[BlockMember]) -> WrittenItems:
        """Write the items of questions that share their options, or of a single one."""
        labels = frozenset(
            label for member in members for label in (member.ready.query.key, *member.wrong)
        )
        draw = "\x1f".join(
            [member.ready.identity for member in members]
            if len(members) > 1
            else [members[0].ready.block_group, *sorted(labels)]
        )
        outcome = WrittenItems(items=(), failed=())
        for names in self._styles(labels):
            outcome = self._all(members, names, draw)
            if not outcome.failed:
                break
        return outcome

    def numbers(self, ready: EligibleQuestion) -> WrittenItems:
        """Write the item of a question about numbered boxes or images."""
        sample, grade = ready.query.sample, ready.query.grade.value
        kind = "box" if sample.artefact == "boxes" else "frame"
        key = int(sample.truth) - 1
        options = [
            Option(
                text=f"{kind.capitalize()} {number + 1}",
                concept="",
                ids=(),
                strategy=KEY if number == key else kind,
                grade="" if number == key else grade,
                passed=() if number == key else (5, 7, 12),
            )
            for number in range(sample.choices)
        ]
        try:
            item = self._item(ready, options, ready.identity, ordered=True)
        except _FlawedError as flaw:
            return WrittenItems(items=(), failed=((ready, str(flaw)),))
        return WrittenItems(items=(item,), failed=())

    def _styles(self, labels: frozenset[str]) -> Sequence[Mapping[str, OptionName]]:
        """Return the possible names of a set of options, the preferred style first."""
        styles = self._names.get(labels)
        if styles is None:
            terms, ordered = self._rules.terms, sorted(labels)
            preferred = preferred_names(ordered, terms, self._rules.knowledge)
            own = own_names(ordered, terms)
            styles = self._names[labels] = (own,) if preferred is None else (preferred, own)
        return styles

    def _all(
        self, members: Sequence[BlockMember], names: Mapping[str, OptionName], draw: str
    ) -> WrittenItems:
        items: list[ChoiceItem] = []
        failed: list[tuple[EligibleQuestion, str]] = []
        for member in members:
            compatible = member.ready.compatible
            if compatible is None:
                continue
            options, ordered = self._options(member, compatible, names)
            try:
                items.append(self._item(member.ready, options, draw, ordered=ordered))
            except _FlawedError as flaw:
                failed.append((member.ready, str(flaw)))
        return WrittenItems(items=tuple(items), failed=tuple(failed))

    def _options(
        self, member: BlockMember, compatible: CompatibleOptions, names: Mapping[str, OptionName]
    ) -> tuple[list[Option], bool]:
        query = member.ready.query
        key = self._option(query, query.key, names, strategy=KEY, passed=compatible.passed)
        options = [key]
        for label in member.wrong:
            wrong = compatible.pool.allowed[label]
            options.append(
                self._option(
                    query,
                    label,
                    names,
                    strategy=wrong.strategy,
                    grade=wrong.grade.value,
                    passed=wrong.passed,
                    similarity=wrong.similarity,
                    difficulty=wrong.difficulty.value,
                )
            )
        relations, group = self._rules.relations, query.group
        if group is None or not is_scale(compatible.request, relations):
            return options, False
        options.sort(key=lambda option: (relations.rank(group, option.concept), option.text))
        return options, True

    def _option(
        self,
        query: QuestionCandidate,
        label: str,
        names: Mapping[str, OptionName],
        *,
        strategy: str,
        passed: tuple[int, ...],
        grade: str = "",
        similarity: float | None = None,
        difficulty: str = "",
    ) -> Option:
        term, name = self._rules.terms[label], names[label].name
        ids = term.ids()
        return Option(
            text=names[label].text,
            concept=label,
            ids=tuple(f"{ontology}:{value}" for ontology, value in ids.items()),
            strategy=strategy,
            grade=grade,
            passed=passed,
            versions=tuple(self._versions.get(ontology, "") for ontology in ids),
            named_by=f"{name.ontology}:{name.id} ({name.version})" if name else "",
            word=self._words.get(query.sample.source, {}).get(label, ""),
            similarity=similarity,
            difficulty=difficulty,
        )

    def _item(
        self, ready: EligibleQuestion, options: Sequence[Option], draw: str, *, ordered: bool
    ) -> ChoiceItem:
        """Return the item in the first wording that breaks no rule; wordings are tried at random.

        Questions with the same ``draw`` have the same order of wordings, so that the wording does
        not distinguish them.
        """
        query = ready.query
        sample = query.sample
        key = next(index for index, option in enumerate(options) if option.strategy == KEY)
        texts = [option.text for option in options]
        variant, question, flaws = self._word(ready, options, key, draw, ordered=ordered)
        content = "\x1f".join((sample.id, query.task, question, texts[key], *sorted(texts)))
        wrong = [option for option in options if option.strategy != KEY]
        level = hardest(Difficulty(option.difficulty) for option in wrong if option.difficulty)
        return ChoiceItem(
            id=sha256(content.encode()).hexdigest()[:16],
            sample=sample.id,
            source=sample.source,
            task=query.task.value,
            anatomy=sample.anatomy,
            modality=sample.modality,
            question=question,
            options=tuple(options),
            key=key,
            strategy="+".join(sorted({option.strategy for option in wrong})),
            state=UNREVIEWED,
            field=query.field,
            concept=query.key,
            group=query.group or "",
            scope=query.scope.name.lower(),
            grade=max(option.grade for option in wrong),
            ordered=ordered,
            variant=variant,
            template=self._wordings.version(query.task),
            warnings=tuple(dict.fromkeys(flaw.rule for flaw in flaws)),
            seed=self._seed,
            difficulty=level.value if level else "",
            visible=query.visible.name.lower(),
        )

    def _word(
        self,
        ready: EligibleQuestion,
        options: Sequence[Option],
        key: int,
        draw: str,
        *,
        ordered: bool,
    ) -> tuple[str, str, tuple[Flaw, ...]]:
        query = ready.query
        terms, relations = self._rules.terms, self._rules.relations
        values = wording_values(
            query, terms, relations, [option.concept for option in options if option.concept]
        )
        lots = {
            name: seeded_tiebreak(self._seed, draw, name)
            for name in self._wordings.variants(query.task)
        }
        errors: list[Flaw] = []
        for name in sorted(lots, key=lots.__getitem__):
            question = self._wordings.render(query.task, name, **values)
            draft = item_text(
                question,
                [option.text for option in options],
                [option.concept for option in options],
                key,
                self._rules,
                group=query.group or "",
                ordered=ordered,
                target=str(values.get("target", "")),
                file=query.sample.image,
            )
            flaws = lint(draft)
            broken = [flaw for flaw in flaws if flaw.level == ERROR]
            if not broken:
                return name, question, flaws
            errors += broken
        raise _FlawedError(f"lint {errors[0].rule}")
