"""From a workspace to a tree that a stranger can check, and back."""
