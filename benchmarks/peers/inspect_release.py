"""Ask the questions of a release with inspect_ai, as its documentation does multiple choice.

Usage: ``python inspect_release.py RELEASE URL ITEMS CONNECTIONS``, with a Python that has
inspect_ai and openai.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

release, url, items, connections = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:5])
samples = []
for table in sorted(release.glob("*/test.json")):
    for row in json.loads(table.read_text()):
        picture = ContentImage(image=str(table.parent / row["image_path"]))
        text = ContentText(text=row["question"])
        options = [row[f"option_{letter}"] for letter in "ABCD" if f"option_{letter}" in row]
        samples.append(
            Sample(
                input=[ChatMessageUser(content=[picture, text])],
                choices=options,
                target="ABCD"[row["correct_index"]],
            )
        )
model = get_model("openai/stub", base_url=url, api_key="none", responses_api=False)
task = inspect_ai.Task(
    dataset=MemoryDataset(samples[:items]), solver=multiple_choice(), scorer=choice()
)
logs = inspect_ai.eval(
    task, model=model, max_connections=connections, display="none", log_dir="logs"
)
print(json.dumps({"status": logs[0].status}))
if logs[0].status != "success":
    sys.exit(str(logs[0].error))
