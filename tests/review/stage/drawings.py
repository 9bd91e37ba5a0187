"""Pictures drawn for tests."""

import io

import numpy as np
from PIL import Image, ImageDraw


def png(image):
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def phantom(size=(512, 512), *, mark=False):
    """A drawn slice: a bright ring, two ventricles and a spot, with or without its mark."""
    width, height = size
    image = Image.new("RGB", size, "black")
    draw = ImageDraw.Draw(image)

    def ellipse(left, top, right, bottom, **how):
        draw.ellipse((left * width, top * height, right * width, bottom * height), **how)

    ellipse(0.1, 0.08, 0.9, 0.92, fill=(90, 90, 90), outline=(220, 220, 220), width=width // 32)
    ellipse(0.36, 0.35, 0.47, 0.62, fill=(25, 25, 25))
    ellipse(0.53, 0.35, 0.64, 0.62, fill=(25, 25, 25))
    ellipse(0.62, 0.6, 0.74, 0.72, fill=(200, 200, 200))
    if mark:
        ellipse(0.59, 0.57, 0.77, 0.75, outline=(255, 40, 40), width=max(2, width // 128))
    return image


def deep(size=(320, 256)):
    """A 16-bit picture: a ramp of 12 bits."""
    width, height = size
    ramp = np.linspace(0, 4095, width, dtype=np.uint16)
    return np.ascontiguousarray(np.broadcast_to(ramp, (height, width)))
