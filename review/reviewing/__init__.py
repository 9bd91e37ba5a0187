"""Claims, the two steps of a review, and the state machine of items."""
