"""What comes into the queue and what leaves it."""
