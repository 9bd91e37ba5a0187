"""Windowing: stored values to 8-bit grey, one transform per volume.

Integer data of up to 16 bits go through one lookup table over every value of the type. Formulas
multiply before the single division, which IEEE 754 rounds correctly, so that ties are ties on every
platform. Halves are rounded up; inversion (MONOCHROME1) mirrors that, so that both photometric
interpretations of one image give the same bytes.
"""

__all__ = ["curves", "order_statistics", "policy", "recorded_window", "transform"]
