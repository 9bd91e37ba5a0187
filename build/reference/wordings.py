"""Reference page of question wordings, rendered for every occasion."""

from __future__ import annotations

from collections.abc import Sequence

from medrcube.build.questions.authoring.occasions import occasions
from medrcube.build.questions.question_wording import wording_values
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.taxonomy import Task, cube_tasks
from medrcube.templates import render_card, render_question, wording_names

__all__ = ["wordings_page"]


def wordings_page(cards: Sequence[Card]) -> str:
    """Return the Markdown page: by task and wording, each possible question once."""
    terms, relations = load_terms(), load_relations()
    texts: dict[Task, dict[str, set[str]]] = {
        task: {name: set() for name in wording_names(task)} for task in cube_tasks()
    }
    for occasion in occasions(cards, terms, relations):
        task = occasion.query.task
        values = wording_values(occasion.query, terms, relations, occasion.labels)
        for name, questions in texts[task].items():
            questions.add(render_question(task, name, **values))
    return render_card(
        "wordings.md",
        tasks=[
            (task, [(name, sorted(questions)) for name, questions in questions_of.items()])
            for task, questions_of in texts.items()
        ],
        count=sum(
            len(questions) for questions_of in texts.values() for questions in questions_of.values()
        ),
    )
