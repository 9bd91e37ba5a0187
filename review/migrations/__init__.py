"""Steps from one set of tables to the next."""
