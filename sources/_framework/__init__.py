"""Framework of a source folder: card, contract, layout."""
