"""Which question is sent next, how many at once, and how often again."""
