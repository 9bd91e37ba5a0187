"""Claims, the two steps of a review, and what follows from them."""
