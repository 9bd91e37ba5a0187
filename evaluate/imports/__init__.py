"""Import result files of other harnesses as runs."""
