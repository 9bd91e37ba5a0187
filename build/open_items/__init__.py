"""Open items: questions of tasks with a rule, from case to item, apart from those of the cube."""
