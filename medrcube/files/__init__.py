"""Files: atomic writes, TOML, and Python files outside the package."""
