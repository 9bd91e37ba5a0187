"""A small workspace written by hand, and reviewers who review what was imported from it."""

import io
import json
import shutil
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from django.db import connection
from PIL import Image

from medrcube.build.audit.batch_audit import audit_batch
from medrcube.build.open_items.table import OpenItem, open_items_to_frame
from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.pixels.png_encoder import encode_png
from medrcube.build.questions.item_table import ChoiceItem, Option, items_to_frame
from medrcube.build.release.write import release
from medrcube.build.stages.samples import Sample, samples_to_frame
from medrcube.build_settings import BuildSettings
from medrcube.console.progress import Reporter
from medrcube.perceptual_hash import perceptual_hash
from medrcube.review.exchange.import_items import import_workspace
from medrcube.review.models import Item as Row
from medrcube.review.models import ItemVersion, User
from medrcube.review.reviewing import claims, steps
from medrcube.review.reviewing.submissions import BlindSubmission, ReviewSubmission
from medrcube.sources._framework.contract import load_source
from medrcube.workspace import WorkspaceFolder

TEXTS = ("glioma", "meningioma", "abscess", "infarct")
NO_INDEX = {"digest": None, "editions": []}


class Bench:
    """A workspace whose tables can be changed and written again."""

    def __init__(self, root):
        self.workspace = WorkspaceFolder(root=root, settings=BuildSettings(seed=7))
        self.samples, self.items, self.open = {}, {}, {}

    def add(self, name, **changes):
        """An item on a picture of its own."""
        sample = self.picture(f"s-{name}", case=changes.pop("case", f"case-{name}"))
        self.items[name] = ChoiceItem(
            **{
                "id": name,
                "sample": sample.id,
                "source": "toy",
                "task": "Disease Diagnosis",
                "anatomy": "Brain",
                "modality": "MRI",
                "question": "Which diagnosis applies to this MRI image?",
                "options": tuple(_option(text, at) for at, text in enumerate(TEXTS)),
                "key": 0,
                "strategy": "predefined",
                "state": "unreviewed",
                "field": "tumour",
                "concept": "glioma",
                "group": "",
                "scope": "image",
                "grade": "A",
                "ordered": False,
                "variant": "applies",
                "template": "0" * 16,
                "warnings": (),
                "seed": 7,
                "difficulty": "hard",
                **changes,
            }
        )
        return self.items[name]

    def add_open(self, name, form="number", **changes):
        """An open item on a picture of its own."""
        sample = self.picture(f"s-{name}", case=f"case-{name}")
        self.open[name] = OpenItem(
            **{
                "id": name,
                "sample": sample.id,
                "source": "toy",
                "task": "Longest Diameter",
                "anatomy": "Brain",
                "modality": "MRI",
                "question": "How long is the glioma in this MRI image?",
                "form": form,
                "ask": '{"unit": "mm"}',
                "truth": '{"value": 23.0, "low": 19.0, "high": 27.0}',
                "chance": 0.25,
                "prior": "MRI, tumour",
                "field": "tumour",
                "concept": "glioma",
                "grade": "A",
                "visible": "yes",
                "variant": "long",
                "template": "0" * 16,
                "seed": 7,
                **changes,
            }
        )
        return self.open[name]

    def picture(self, name, *, artefact="clean", **changes):
        """A picture with pixels of its own, as a file and as a row."""
        number = len(self.samples)
        pixels = np.full((12, 16), 10 + number, np.uint8)
        pixels[number % 12] = 200
        path = self.workspace.root / "images" / "toy" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_png(pixels))
        self.samples[name] = Sample(
            **{
                "id": name,
                "source": "toy",
                "case": name,
                "artefact": artefact,
                "field": "" if artefact == "clean" else "tumour",
                "marked": "" if artefact == "clean" else "glioma",
                "truth": "",
                "choices": 0,
                "area": 0.0,
                "regions": 0,
                "image": f"images/toy/{name}.png",
                "pixel_sha256": pixel_hash(pixels),
                "perceptual_hash": perceptual_hash(pixels) if artefact == "clean" else "",
                "width": 16,
                "height": 12,
                "anatomy": "Brain",
                "modality": "MRI",
                "patient": "patient-hash-sentinel",
                "split": "",
                "scope": "image",
                "licence": "CC-BY-4.0",
                "redistribute": True,
                "frames": "3",
                "reason": "the largest",
                "recipe": "0" * 16,
                **changes,
            }
        )
        return self.samples[name]

    def change(self, name, **changes):
        self.items[name] = replace(self.items[name], **changes)

    def write(self):
        """Write the tables, and what a release reads besides."""
        root = self.workspace.root
        samples_to_frame(self.samples.values()).to_parquet(self.workspace.samples)
        items_to_frame(self.items.values()).to_parquet(self.workspace.items)
        open_items_to_frame(self.open.values()).to_parquet(self.workspace.open_items)
        lines = [json.dumps(_recipe(sample)) + "\n" for sample in self.samples.values()]
        (root / "recipes.jsonl").write_text("".join(lines))
        (root / "raw_files.jsonl").write_text("")
        audit = audit_batch(list(self.samples.values()), list(self.items.values()), (), {})
        rest = {"failures": [], "dropped": {}, "shared_images": [], "ontologies": NO_INDEX}
        (root / "audit.json").write_text(json.dumps({**audit, **rest}))
        return self.workspace


def _recipe(sample):
    return {
        "sample": sample.id,
        "image": sample.image,
        "source": sample.source,
        "case": sample.case,
        "pixel_sha256": sample.pixel_sha256,
        "files": {"raw.png": sha256(sample.case.encode()).hexdigest()},
        "images": [{"files": ["raw.png"], "member": ""}],
        "origin": {"layout": "flat", "card": "0" * 64, "adapter": "0" * 64, "pixels": {}},
        "mark": {"kind": sample.artefact},
        "epoch": 1,
        "encoder": "none",
    }


def _option(text, place):
    return Option(
        text=text,
        concept=text,
        ids=(f"hpo:HP:000000{place}",),
        versions=("2026-01",),
        strategy="predefined" if place else "key",
        grade="A" if place else "",
        passed=(1, 2, 3),
        similarity=0.25 if place else None,
    )


@pytest.fixture
def bench(tmp_path):
    """An empty ``Bench``."""
    root = tmp_path / "bench"
    root.mkdir()
    return Bench(root)


@pytest.fixture
def take_in(bench, database):
    """Write the bench and import it: gives the report."""

    def run(**options):
        return import_workspace(bench.write(), Reporter(quiet=True), **options)

    return run


@pytest.fixture(scope="session")
def imported(tmp_path_factory):
    """Where the first test that needs it keeps a copy of the queue of three items."""
    return tmp_path_factory.mktemp("three") / "imported"


@pytest.fixture
def three(bench, take_in, database, imported):
    """A queue of three items, ``a``, ``b`` and ``c``, besides those that the bench holds.

    Into an empty queue they are imported once; every later test gets a copy of it.
    """
    folders = {"bench": bench.workspace.root, "review": database.folder}
    alone = not bench.items
    for name in "abc":
        bench.add(name)
    if not alone:
        take_in()
        return bench
    if not imported.exists():
        take_in()
        connection.close()  # which writes what stands in the log of the database
        for name, folder in folders.items():
            shutil.copytree(folder, imported / name)
        shutil.copyfile(database.database, imported / "database")
    else:
        connection.close()
        for name, folder in folders.items():
            shutil.copytree(imported / name, folder, dirs_exist_ok=True)
        shutil.copyfile(imported / "database", database.database)
    connection.ensure_connection()
    return bench


@pytest.fixture
def reviewers(three):
    """Two reviewers in that queue."""
    return [make_reviewer(number) for number in range(2)]


def make_reviewer(number):
    """An account that reviews, without the time that a password takes."""
    return User.objects.create(email=f"sentinel{number}@example.org", role="reviewer")


@pytest.fixture
def review(reviewers):
    """Let both reviewers judge everything that waits: ``review({"a": "reject"}, comment=...)``."""

    def run(decisions=None, reasons=None, **values):
        for reviewer in reviewers:
            while (claim := claims.claim_next(reviewer)) is not None:
                version = ItemVersion.objects.get(pk=claim.version_id)
                decision = (decisions or {}).get(version.item_id, "accept")
                codes = (reasons or {}).get(version.item_id, ("TRIVIAL",))
                reason_rows = () if decision == "accept" else tuple((code, None) for code in codes)
                answer = BlindSubmission(
                    option=version.key, confidence=3, needs_image="yes", image_adequate=True
                )
                steps.answer_blind(claim.token, reviewer, answer)
                steps.submit_review(
                    claim.token,
                    reviewer,
                    ReviewSubmission(decision=decision, reasons=reason_rows, **values),
                )

    return run


@pytest.fixture
def states():
    """State of every item, by its id."""
    return lambda: dict(Row.objects.values_list("id", "state"))


@pytest.fixture
def write_release(three, toy_source, tmp_path):
    """Make a release of the bench; gives its report."""
    source = load_source(toy_source())

    def run(name="v1", **options):
        out = tmp_path / f"release-{name}"
        return release(three.workspace, {"toy": source}, out, name=name, **options)

    return run


@pytest.fixture
def grey():
    """Bytes of a grey picture that stands in no table."""
    buffer = io.BytesIO()
    Image.new("L", (16, 12), 99).save(buffer, "PNG")
    return buffer.getvalue()
