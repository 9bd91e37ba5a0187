"""Every question with options of its own: for a look at what a source can be asked.

No answer has to be the key of another question, so a single picture is asked all that it can be.
Such a batch gives its keys away (see ``key_balance``), which the audit says and a release refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.build.questions.option_blocks import BlockMember
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.distractor_selection import LabelUsage, choose_from_pool


def single_members(
    ready: Iterable[EligibleQuestion],
    rules: SafetyRules,
    *,
    options: int,
    seed: int,
    wanted: Difficulty | None,
) -> Iterator[BlockMember]:
    """Each question that is not about boxes, with safe labels that were used least so far."""
    asked = sorted((one for one in ready if one.against), key=lambda one: (one.lot, one.identity))
    keyed: dict[str, Counter[str]] = {}
    for one in asked:
        keyed.setdefault(one.shelf, Counter())[one.query.key] += 1
    priors = {shelf: LabelUsage(keyed=counts) for shelf, counts in keyed.items()}
    for one in asked:
        if one.against is not None:
            choice = choose_from_pool(
                one.against.pool,
                one.against.request,
                rules,
                options=options,
                seed=f"{seed}|{one.identity}",
                prior=priors[one.shelf],
                wanted=wanted,
            )
            yield BlockMember(ready=one, wrong=tuple(it.label for it in choice.distractors))
