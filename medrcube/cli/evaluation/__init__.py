"""Parts of the commands that ask models and score runs."""
