"""Report text: phrases and negation."""
