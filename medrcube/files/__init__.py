"""Files: atomic writes, TOML, and tables outside the package."""
