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
            "No new data: images and labels come from existing datasets, of which the maker "
            "of the release had copies. Each image and each question is derived by fixed rules."
        ),
        "rai:dataCollectionType": ["Secondary Data analysis"],
        "rai:dataCollectionRawData": "; ".join(
            f"{source.card.title} ({source.card.release}), {source.card.homepage}"
            for source in facts.sources
        ),
        "rai:dataCollectionMissingData": (
            f"{facts.withheld} of {len(facts.places)} images may not be redistributed and are not "
            "in the public edition; recipes.jsonl says how each is made from the raw data, and "
            "medrcube reconstruct makes it. A label that a source does not state is unknown and "
            "is never taken as absent."
        ),
        "rai:dataPreprocessingProtocol": [
            (
                "Images are oriented, windowed and, where they are volumes or videos, cut to one "
                "still view by the rules of each source's card, and written as 8-bit PNG."
            ),
            "For questions about a region, an outline or numbered boxes are drawn into a copy.",
            "Files that cannot be read or break an expectation of the card are set aside.",
        ],
        "rai:dataManipulationProtocol": (
            "prov.jsonl names, for each image, the raw files with their SHA-256 and the "
            "software; recipes.jsonl holds all settings and the hash of the pixels."
        ),
        "rai:dataImputationProtocol": "None: nothing that is missing is filled in.",
        "rai:dataAnnotationProtocol": [
            "The key of an item is a label of its source, mapped to a term by the source's card.",
            (
                "Wrong options are chosen by rules and graded by the evidence that they are wrong "
                "(column grade of items.parquet): A read as absent, B implied, C not mentioned."
            ),
            f"Clinicians have accepted {accepted} of {facts.items} items (column state).",
        ],
        "rai:dataAnnotationAnalysis": [
            "Coverage and agreement of the reviews stand in audit.json, under review."
            if facts.review["head"]
            else "No clinician has looked at the items, so that no agreement was measured."
        ],
        "rai:annotationsPerItem": (
            "Column readers of items.parquet: how many clinicians judged the item."
        ),
        "rai:annotatorDemographics": [
            "For the sources, see their own papers; those of reviewers are not published."
        ],
        "rai:machineAnnotationTools": [f"medrcube {facts.software}"],
        "rai:dataUseCases": [
            "Testing: measuring multimodal models by task, modality and region of the body.",
            "Not for training, fine-tuning or choosing among models that are then tested on it.",
            "Not for clinical use.",
        ],
        "rai:dataBiases": [
            f"{source.card.id}: {fault}"
            for source in facts.sources
            for fault in faults_of(source.card)
        ]
        or ["None is known of the sources in use."],
        "rai:dataLimitations": limits_of(facts),
        "rai:dataSocialImpact": (
            "Scores on a benchmark may be taken for fitness at the bedside, which they do not "
            "show. What helps against it: items are graded by evidence, unreviewed ones are "
            "counted, and failures are kept apart from wrong answers."
        ),
        "rai:personalSensitiveInformation": [
            "Medical images of people. An image file holds pixels and nothing else.",
            "Of raw headers only technical values are used, such as the size of a pixel.",
            (
                "Names of raw files are in the tree as the sources gave them; some hold a source's "
                "own pseudonyms. Other identifiers of patients are not in it."
            ),
            "Text that a source left in its pixels is still there.",
        ],
        "rai:dataReleaseMaintenancePlan": (
            "A release is never changed; a mended one has a new version. SHA256SUMS names every "
            "file of a version."
        ),
    }
