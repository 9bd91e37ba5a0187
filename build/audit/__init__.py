"""Numbers over a whole batch: what it holds, and what would give its answers away."""
