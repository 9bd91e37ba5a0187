"""Views of the review queue."""

__all__ = ["error_pages", "forms", "keyset_paging", "landing", "remark_form", "sent_text"]
