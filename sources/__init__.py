"""Raw datasets: one folder per source with its card, adapter and fixture, and their contract."""
