"""Hand-written SQL for statements that must be fast or must lock."""

__all__ = ["batches", "candidate_queries", "claim_queries", "cursor", "review_queries"]
