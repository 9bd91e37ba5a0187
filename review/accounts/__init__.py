"""Accounts: sign-in, passwords, second factors, permissions."""

__all__ = [
    "accounts",
    "bulk_accounts",
    "key_bindings",
    "login_throttle",
    "own_account",
    "passwords",
    "permissions",
    "second_factor",
    "sessions",
    "single_sign_on",
]
