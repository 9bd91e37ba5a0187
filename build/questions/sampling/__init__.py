"""Seeded draws of questions and keys, and the quotas that bound them."""

__all__ = ["column_draw", "key_balance", "key_draws", "quotas", "two_option_quota"]
