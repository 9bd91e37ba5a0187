"""What the outcomes of a run say, how sure that is, and what it does not say."""
