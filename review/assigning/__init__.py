"""Assignments, specialties and the route of a reviewer through the queue."""
