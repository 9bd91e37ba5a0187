"""Set-up, database, back-up and the web server."""
