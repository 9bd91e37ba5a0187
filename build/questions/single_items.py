"""Items with independently chosen options, to inspect which questions a source supports.

An answer need not be the key of another question, so a single image is asked everything possible.
Such a batch gives its keys away (see ``key_balance``); the audit reports this and a release is
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.build.questions.option_blocks import BlockMember
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.distractor_selection import LabelUsage, choose_from_pool

__all__ = ["single_members"]


def single_members(
    ready: Iterable[EligibleQuestion],
    rules: SafetyRules,
    *,
    options: int,
    seed: int,
    difficulty: Difficulty | None,
) -> Iterator[BlockMember]:
    """Yield each question that is not about boxes, with the safe labels used least so far."""
    questions = sorted(
        (question for question in ready if question.compatible),
        key=lambda question: (question.lot, question.identity),
    )
    keyed: dict[str, Counter[str]] = {}
    for question in questions:
        keyed.setdefault(question.block_group, Counter())[question.query.key] += 1
    priors = {block_group: LabelUsage(keyed=counts) for block_group, counts in keyed.items()}
    for question in questions:
        if question.compatible is not None:
            choice = choose_from_pool(
                question.compatible.pool,
                question.compatible.request,
                rules,
                options=options,
                seed=f"{seed}|{question.identity}",
                prior=priors[question.block_group],
                difficulty=difficulty,
            )
            yield BlockMember(
                ready=question, wrong=tuple(distractor.label for distractor in choice.distractors)
            )
