"""A target of every form without options, as a version of an item keeps it."""

TARGETS = {
    "number": {"ask": {"unit": "mm"}, "truth": {"value": 23.0, "low": 19.0, "high": 27.0}},
    "point": {
        "ask": {},
        "truth": {
            "size": [512, 512],
            "region": {"polygons": [[[100, 200], [200, 200], [150, 300]]]},
            "margin": 4.0,
        },
    },
    "box": {"ask": {}, "truth": {"size": [512, 512], "box": [100, 200, 200, 300], "iou": 0.5}},
    "order": {
        "ask": {"labels": ["Panel A", "Panel B", "Panel C"]},
        "truth": {"order": ["Panel B", "Panel A", "Panel C"]},
    },
    "pair": {
        "ask": {"statements": ["There is a nodule.", "There is an effusion."]},
        "truth": {"answers": [True, False]},
    },
}  # fmt: skip
FORMS = sorted(TARGETS)


def target_of(form):
    return {"form": form, **TARGETS[form]}
