"""Bootstrap, database settings, backup and the web server."""
