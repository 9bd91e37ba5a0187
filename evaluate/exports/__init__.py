"""A release in the forms that other harnesses read."""
