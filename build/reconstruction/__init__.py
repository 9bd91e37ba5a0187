"""Everything that rebuilds withheld pictures from raw data."""
