"""Models that can be evaluated: what they promise, how to open one, and those that ship."""
