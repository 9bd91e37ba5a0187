"""What earlier builds have found, and what lies on disk."""
