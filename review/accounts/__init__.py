"""Accounts: sign-in, passwords, second factors, permissions."""
