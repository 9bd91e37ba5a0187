"""Bootstrap, database settings, backup and web server."""

__all__ = ["backup", "bind_address", "bootstrap", "database_settings", "request_log", "serve"]
