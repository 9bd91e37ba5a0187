"""Rows of questions on one image in three stages, for tests of chains."""

from __future__ import annotations

STAGES = {
    "View Recognition": (
        "Which plane is shown?",
        ("Axial plane", "Coronal plane", "Sagittal plane"),
    ),
    "ROI Grounding": ("Which numbered box holds the lesion?", ("Box 1", "Box 2", "Box 3")),
    "Disease Diagnosis": ("Which diagnosis fits best?", ("Cyst", "Fibroadenoma", "Carcinoma")),
}


def stage_row(make_row, stage, image, **changes):
    """One question of a stage; its key is option A."""
    question, options = STAGES[stage]
    row = make_row(
        0,
        id=f"{image}-{stage.partition(' ')[0].lower()}",
        task=stage,
        question=question,
        image_path=f"pictures/{image}.png",
        gt_answer=options[0],
        correct_index=0,
        option_D=None,
    )
    row.update(dict(zip(("option_A", "option_B", "option_C"), options, strict=True)))
    row.update(changes)
    return {name: value for name, value in row.items() if name != "option_D"}


def chain_rows(make_row, *images, tasks=tuple(STAGES)):
    """The questions of all stages on each image."""
    return [stage_row(make_row, task, image) for image in images for task in tasks]
