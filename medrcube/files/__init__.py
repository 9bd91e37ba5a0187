"""Files: atomic writes, TOML, and Python files outside the package."""

__all__ = ["atomic", "python_file", "toml_reader"]
