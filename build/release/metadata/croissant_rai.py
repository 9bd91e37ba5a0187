"""Responsible-AI properties of ``croissant.json``: http://mlcommons.org/croissant/RAI/1.0."""

from __future__ import annotations

from typing import Any

from medrcube.build.release.metadata.limitations import faults_of, limits_of
from medrcube.build.release.metadata.release_facts import ReleaseFacts

__all__ = ["rai_properties"]


def rai_properties(facts: ReleaseFacts) -> dict[str, Any]:
    """Return the properties of the vocabulary, each a text or a list of texts."""
    accepted = facts.items - facts.unreviewed
    return {
        "rai:dataCollection": (
            "No new data: images and labels come from copies of existing datasets. Every image "
            "and every question is derived from them by fixed rules."
        ),
        "rai:dataCollectionType": ["Secondary Data analysis"],
        "rai:dataCollectionRawData": "; ".join(
            f"{source.card.title} ({source.card.release}), {source.card.homepage}"
            for source in facts.sources
        ),
        "rai:dataCollectionMissingData": (
            f"{facts.withheld} of {len(facts.places)} images may not be redistributed and are not "
            "in the public edition; recipes.jsonl states how each is rendered from the raw "
            "data, and medrcube reconstruct renders it. A label that a source does not state is "
            "unknown and is never taken as absent."
        ),
        "rai:dataPreprocessingProtocol": [
            (
                "Images are oriented and windowed by the rules of each source's card and written "
                "as 8-bit PNG; one slice or frame is taken from a volume or video."
            ),
            "For questions about a region, an outline or numbered boxes are drawn on a copy.",
            "Files that cannot be read, or that contradict the card, are quarantined.",
        ],
        "rai:dataManipulationProtocol": (
            "prov.jsonl names, for each image, the raw files with their SHA-256 and the "
            "software; recipes.jsonl holds all settings and the hash of the pixels."
        ),
        "rai:dataImputationProtocol": "None: missing values are not imputed.",
        "rai:dataAnnotationProtocol": [
            "The key of an item is a label of its source, mapped to a term by the source's card.",
            (
                "Distractors are chosen by rules and graded by the evidence that they are false "
                "(column grade of items.parquet): A read as absent, B implied absent, C not "
                "mentioned."
            ),
            f"Clinicians have accepted {accepted} of {facts.items} items (column state).",
        ],
        "rai:dataAnnotationAnalysis": [
            "audit.json has the coverage and agreement of the reviews under the key review."
            if facts.review["head"]
            else "No clinician has reviewed the items, so no agreement was measured."
        ],
        "rai:annotationsPerItem": (
            "Column reviewers of items.parquet: number of clinicians who reviewed the item."
        ),
        "rai:annotatorDemographics": [
            "Those of a source's annotators are in its paper; those of reviewers are not published."
        ],
        "rai:machineAnnotationTools": [f"medrcube {facts.software}"],
        "rai:dataUseCases": [
            "Evaluating multimodal models by task, modality and anatomical region.",
            "Not for training, fine-tuning or selecting models that are then tested on it.",
            "Not for clinical use.",
        ],
        "rai:dataBiases": [
            f"{source.card.id}: {fault}"
            for source in facts.sources
            for fault in faults_of(source.card)
        ]
        or ["No bias of the sources is known."],
        "rai:dataLimitations": limits_of(facts),
        "rai:dataSocialImpact": (
            "Benchmark scores may be mistaken for fitness for clinical use, which they do not "
            "show. To limit this, items are graded by evidence, unreviewed items are counted, "
            "and failures are reported apart from wrong answers."
        ),
        "rai:personalSensitiveInformation": [
            "Medical images of people. An image file contains pixels and no other data.",
            "Only technical values of raw headers are used, such as the pixel size.",
            (
                "The release contains the names of raw files as the sources gave them; some "
                "contain a source's own pseudonyms. It contains no other identifier of a patient."
            ),
            "Text that a source left burnt into its pixels is not removed.",
        ],
        "rai:dataReleaseMaintenancePlan": (
            "A release is never changed; a corrected release has a new version. SHA256SUMS lists "
            "every file of a version."
        ),
    }
