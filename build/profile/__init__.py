"""Profiles: target margins over the cube, planning towards them, distance to them."""

__all__ = [
    "answerable",
    "cell_planning",
    "distance_report",
    "full_size",
    "profile",
    "raw_counts",
    "yields",
]
