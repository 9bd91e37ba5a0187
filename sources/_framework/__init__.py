"""Framework of a source folder: card, contract, layout."""

__all__ = [
    "card",
    "card_lookup",
    "contract",
    "layout",
    "own_card",
    "reference_page",
    "scaffold",
    "settled_cases",
    "upstream_names",
]
