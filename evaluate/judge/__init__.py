"""A language model as judge of replies that no rule can parse."""
