"""Assignments, specialties and the route of a reviewer through the queue."""

__all__ = ["assignment", "outlook", "outstanding", "routing", "specialist_rule", "specialties"]
