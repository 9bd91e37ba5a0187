"""The command line: a module for each command."""

__all__ = ["app", "endings", "examples"]
