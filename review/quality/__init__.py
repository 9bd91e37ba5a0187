"""Agreement, gold items, and the figures of each reviewer."""
