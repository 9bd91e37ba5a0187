"""Parse replies to questions without options: numbers, points, boxes, orders and pairs."""

__all__ = ["number_reply", "open_replies"]
