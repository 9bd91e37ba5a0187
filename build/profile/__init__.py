"""How many items of each kind a benchmark is to have, and how near a build comes to it."""
