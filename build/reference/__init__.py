"""Reference pages generated from code and cards."""
