"""Pictures drawn for tests."""

import functools
import io
from hashlib import sha256

import numpy as np
from PIL import Image, ImageDraw

from medrcube.build.pixels.png_encoder import encode_png


@functools.cache
def slice_picture(size=(512, 512), *, mark=False):
    """``phantom`` as PNG."""
    return png(phantom(size, mark=mark))


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


def deep(planes, *, own, **facts):
    """Facts of a viewer copy of ``(n, rows, columns)`` steps, and its files by digest."""
    files = {sha256(data).hexdigest(): data for data in map(encode_png, planes)}
    _, rows, columns = planes.shape
    return {
        "slices": list(files),
        "own": own,
        "slope": 1.0,
        "intercept": -1024.0,
        "exact": True,
        "unit": "HU",
        "inverted": False,
        "projection": False,
        "window": [-160.0, 239.0],
        "place": [0.0, 0.0, float(columns), float(rows)],
        "columns": columns,
        "spacing": [0.5, 0.5],
        "presets": [["Lung", -1350.0, 149.0], ["Brain", 0.0, 79.0]],
        **facts,
    }, files


def numbered(count=5, size=(256, 320)):
    """Slices of a volume: a ramp over all of CT, and a square whose place tells the slice."""
    rows, columns = size
    ramp = np.linspace(0, 4095, columns).astype(np.uint16)
    planes = np.repeat(np.broadcast_to(ramp, (1, rows, columns)), count, axis=0).copy()
    for number, plane in enumerate(planes):
        plane[:20, 20 * number : 20 * (number + 1)] = 3000
    return planes
