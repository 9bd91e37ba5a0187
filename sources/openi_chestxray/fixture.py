"""Synthetic reports with the traps of their codes, and films of every kind of pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from medrcube.sources._synthetic.chest_signs import areas_of, film_with
from medrcube.sources._synthetic.images import CANARY, write_dicom, write_lines
from medrcube.sources._synthetic.shapes import Mask

_SIDE = 96
CODES = (
    "abdomen",
    "adipose tissue",
    "airspace disease",
    "aorta",
    "aorta, thoracic",
    "aorta, thoracic/tortuous",
    "aorta/tortuous",
    "aortic aneurysm",
    "arthritis",
    "atherosclerosis",
    "blister",
    "blood vessels",
    "bone and bones",
    "bone diseases, metabolic",
    "breast implants",
    "bronchiectasis",
    "bronchiolitis",
    "bronchitis",
    "bullous emphysema",
    "calcified granuloma",
    "calcified granuloma/lung",
    "calcinosis",
    "cardiac shadow",
    "cardiac shadow/enlarged",
    "cardiomegaly",
    "cardiomegaly/borderline",
    "catheters, indwelling",
    "cavitation/lung",
    "cervical vertebrae",
    "cholelithiasis",
    "cicatrix",
    "colonic interposition",
    "consolidation",
    "consolidation/lung",
    "contrast media",
    "costophrenic angle",
    "costophrenic angle/blunted",
    "cystic fibrosis",
    "cysts",
    "cysts/lung",
    "deformity",
    "density",
    "diaphragm",
    "diaphragm/elevated",
    "diaphragm/flattened",
    "diaphragmatic eventration",
    "dislocations",
    "emphysema",
    "epicardial fat",
    "expansile bone lesions",
    "fibrosis",
    "foreign bodies",
    "fractures, bone",
    "fractures, bone/clavicle",
    "fractures, bone/clavicle/healed",
    "fractures, bone/healed",
    "fractures, bone/ribs",
    "fractures, bone/ribs/healed",
    "funnel chest",
    "granuloma",
    "granuloma/lung",
    "granulomatous disease",
    "heart",
    "heart atria",
    "heart failure",
    "heart ventricles",
    "hemopneumothorax",
    "hemothorax",
    "hernia, diaphragmatic",
    "hernia, hiatal",
    "humerus",
    "hydropneumothorax",
    "hyperostosis, diffuse idiopathic skeletal",
    "hypertension, pulmonary",
    "hypovolemia",
    "implanted medical device",
    "infiltrate/lung",
    "kyphosis",
    "lucency",
    "lumbar vertebrae",
    "lung",
    "lung diseases, interstitial",
    "lung, hyperlucent",
    "lung/hyperdistention",
    "lymph nodes",
    "markings",
    "mass",
    "mass/lung",
    "mastectomy",
    "mediastinal emphysema",
    "mediastinum/enlarged",
    "mediastinum/prominent",
    "medical device",
    "nipple shadow",
    "nodule",
    "nodule/lung",
    "opacity",
    "opacity/lung",
    "osteophyte",
    "osteoporosis",
    "pectus carinatum",
    "pericardial effusion",
    "pleura",
    "pleural effusion",
    "pleural effusion/borderline",
    "pneumonectomy",
    "pneumonia",
    "pneumoperitoneum",
    "pneumothorax",
    "pulmonary artery",
    "pulmonary artery/enlarged",
    "pulmonary atelectasis",
    "pulmonary congestion",
    "pulmonary disease, chronic obstructive",
    "pulmonary edema",
    "pulmonary emphysema",
    "pulmonary fibrosis",
    "ribs",
    "sarcoidosis",
    "sclerosis",
    "scoliosis",
    "shift",
    "shift/mediastinum",
    "shoulder",
    "spinal fusion",
    "spine/degenerative",
    "spondylosis",
    "stents",
    "subcutaneous emphysema",
    "sulcus",
    "surgical instruments",
    "sutures",
    "thickening",
    "thickening/pleura",
    "thoracic vertebrae/degenerative",
    "thorax",
    "trachea",
    "trachea, carina",
    "tube, inserted",
    "tuberculosis",
    "tuberculosis/healed",
    "volume loss",
)
"""Every code that the card knows, each alone in meaning, in any order."""
_SIGN_OF_WORD = {
    "Cardiomegaly": "Cardiomegaly",
    "Pleural Effusion": "Pleural Effusion",
    "Pneumonia": "Pneumonia",
    "Opacity": "Lung Opacity",
    "Nodule": "Nodule",
    "Hernia, Hiatal": "hiatal hernia",
    "Pulmonary Emphysema": "Emphysema",
    "Fractures, Bone": "Rib fracture",
    "Pulmonary Atelectasis": "Atelectasis",
    "Aorta, Thoracic": "aortic elongation",
}
"""Concept that is drawn for the first word of a code."""
# Number of the report, films with ViewPosition and whether stored inverted, codes, findings.
_Films = Sequence[tuple[str, str, bool]]
REPORTS: tuple[tuple[int, _Films, Sequence[str], str], ...] = (
    (1, (("0001-3001", "LL", False), ("0001-4001", "PA", True)), ("normal",), "Clear lungs."),
    (2, (("0652-1001", "PA", True), ("0652-2001", "PA", True)), ("Cardiomegaly/mild",), ""),
    (3, (("1384-1001", "PA", False), ("1384-2001", "LATERAL", False)), ("normal",), "Scoliosis."),
    (4, (("2050-1001", "AP", False), ("2050-2001", "RL", False)), ("Cardiomegaly/severe",), ""),
    (5, (("2117-1003002", "", False),), ("Pneumonia/lower lobe/right",), ""),
    (6, (("2192-1001", "PA", False), ("2192-2001", "LL", False)), ("No Indexing",), ""),
    (
        *(7, (("2263-1001", "PA", False), ("2263-2001", "LL", True))),
        ("Cardiomegaly/moderate", "Pleural Effusion/left/small", "Subcutaneous  Emphysema/right"),
        "Small left pleural effusion. The heart is enlarged.",
    ),
    (
        *(8, (("2333-1001", "PA", True), ("2333-2001", "LATERAL", True))),
        ("Cardiomegaly/borderline", "Opacity/lung/base/left", "Nodule/thorax", "Hernia, Hiatal"),
        "No pleural effusion.",
    ),
    (
        *(9, (("2407-1001", "PA", False), ("2407-2001", "LL", False))),
        ("Pulmonary Emphysema/severe", "Fractures, Bone/ribs/left/healed", "Tuberculosis/healed"),
        "",
    ),
    (
        *(10, (("0002-1001", "PA", False), ("0002-2001", "LL", False))),
        ("Technical Quality of Image Unsatisfactory ",),
        "",
    ),
    (11, (), ("normal",), ""),
    (
        *(12, (("0123-1001", "PA", False), ("0123-2001", "LL", False))),
        ("Cardiomegaly/mild", "Pulmonary Atelectasis/base", "Aorta, Thoracic/tortuous/mild"),
        "",
    ),
    (13, (("0156-1001", "AP", False), ("0156-2001", "LL", False)), CODES, ""),
    (
        *(14, (("0188-1001", "PA", False), ("0188-2001", "LL", False))),
        tuple(f"Fractures, Bone/{place}chronic" for place in ("", "ribs/left/", "clavicle/")),
        "",
    ),
    (
        *(15, (("0201-1001", "PA", False), ("0201-2001", "LL", False))),
        ("Fractures, Bone/ribs/right", "Fractures, Bone/clavicle/left"),
        "Old lateral right rib fractures. Displaced fracture of the left clavicle.",
    ),
)


PA = "Xray Chest PA and Lateral"
CAPTIONS = {14: "Chest x-ray AP and lateral, 2 views. "}
PROJECTIONS = ("1001.dcm.png,Frontal", "2001.dcm.png,Lateral")


def build(root: Path, layout: str) -> None:
    """Write the reports, the films that they name and the table of projections for one pair."""
    del layout
    table = ("uid,filename,projection", *(f"2,2_IM-0652-{film}" for film in PROJECTIONS))
    write_lines(root / "indiana_projections.csv", table)
    for number, films, codes, findings in REPORTS:
        images = [f"{number}_IM-{film}" for film, *_ in films]
        lines = list(_report(number, images, codes, findings))
        write_lines(root / f"NLMCXR_reports/ecgen-radiology/{number}.xml", lines)
        for image, (_, view, inverted) in zip(images, films, strict=True):
            areas = areas_of(_concepts(codes), _SIDE, _SIDE, seed=number)
            path = root / f"NLMCXR_dcm/{number}/{image}.dcm"
            _film(path, number, view, areas, inverted=inverted)


def _concepts(codes: Sequence[str]) -> list[str]:
    words = dict.fromkeys(code.partition("/")[0] for code in codes)
    return [_SIGN_OF_WORD[word] for word in words if word in _SIGN_OF_WORD]


def _film(path: Path, seed: int, view: str, areas: Mapping[str, Mask], *, inverted: bool) -> None:
    """A film of 12 bits; two of PA are a pair of which the second is really lateral."""
    lateral = view not in {"PA", "AP", ""} or path.stem.endswith("0652-2001")
    pixels = film_with(areas, _SIDE, _SIDE, seed=seed, maximum=4095, lateral=lateral)
    write_dicom(
        path,
        4095 - pixels if inverted else pixels,
        Modality="CR",
        ViewPosition=view,
        BitsStored=12,
        HighBit=11,
        PhotometricInterpretation="MONOCHROME1" if inverted else "MONOCHROME2",
        PixelSpacing=[0.15, 0.15],
    )


def _report(
    number: int, images: Sequence[str], codes: Sequence[str], findings: str
) -> Iterator[str]:
    """The film of report 1 has a number more in its identity than in its file name."""
    yield f'<?xml version="1.0" encoding="utf-8"?><eCitation><uId id="CXR{number}"/>'
    yield '<MedlineCitation Owner="Indiana University"><Article><Abstract>'
    yield f'<AbstractText Label="INDICATION">{CANARY}</AbstractText>'
    yield f'<AbstractText Label="FINDINGS">{findings}</AbstractText>'
    yield f'<AbstractText Label="IMPRESSION">Film {number}.</AbstractText>'
    yield "</Abstract></Article></MedlineCitation><MeSH>"
    yield from (f"<major>{code}</major>" for code in codes)
    yield "<automatic>pericardial effusion</automatic></MeSH>"
    for image in images:
        identity = image.replace("1_", "1_1_", 1) if number == 1 else image
        yield f'<parentImage id="CXR{identity}"><figureId>F1</figureId>'
        yield f"<caption>{CAPTIONS.get(number, PA)}</caption></parentImage>"
    yield "</eCitation>"
