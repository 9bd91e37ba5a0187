"""The tables of a card, each with its own checks."""
