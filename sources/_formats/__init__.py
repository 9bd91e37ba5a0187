"""Format readers that several adapters share."""

__all__ = [
    "axial_stacks",
    "balls",
    "borrowed_levels",
    "bounded_xml",
    "brain_directions",
    "chexpert_labels",
    "comparisons",
    "decathlon",
    "ejection_fraction",
    "folders",
    "label_maps",
    "licences",
    "metaimage_header",
    "nifti_masks",
    "openi_xml",
    "runs",
    "several_readers",
    "single_slices",
]
