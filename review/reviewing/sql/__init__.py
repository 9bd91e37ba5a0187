"""Hand-written SQL, where a statement must be fast or must lock."""
