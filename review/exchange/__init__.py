"""Import into the queue, and export from it."""
