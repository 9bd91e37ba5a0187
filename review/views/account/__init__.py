"""Views of the user's own account."""

__all__ = ["second_factor", "settings", "sign_in"]
