"""Concepts, their relations, and distractor safety."""

__all__ = [
    "concept_records",
    "difficulty",
    "distractor_safety",
    "distractor_selection",
    "index",
    "index_knowledge",
    "item_rules",
    "knowledge_protocol",
    "label_words",
    "licences",
    "llm",
    "name_grammar",
    "nearest_concepts",
    "readers",
    "reference_page",
    "relations",
    "target_phrases",
    "term_validation",
    "terms",
]
