"""Licence texts of tables become SPDX ids or references, as file formats promise."""

import pandas as pd
import pytest

from medrcube.sources._formats.licences import is_licence_id, is_spdx_id, licence_id
from medrcube.sources.registry import find_sources

SOURCES = find_sources()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CC BY 4.0", "CC-BY-4.0"),
        ("CC BY-NC -SA 4.0", "CC-BY-NC-SA-4.0"),
        ("cc by-nc-nd 3.0", "CC-BY-NC-ND-3.0"),
        ("Apache 2.0", "Apache-2.0"),
        ("CC0-1.0", "CC0-1.0"),
        ("CC BY", "LicenseRef-CC-BY"),
        ("CC BY-NC-SA", "LicenseRef-CC-BY-NC-SA"),
        ("CC BY 5.0", "LicenseRef-CC-BY-5.0"),
        ("Apache", "LicenseRef-Apache"),
        ("listed as authorized for everyone", "LicenseRef-listed-as-authorized-for-everyone"),
        ("COVID-19 emergency license", "LicenseRef-COVID-19-emergency-license"),
        ("LicenseRef-BUSI", "LicenseRef-BUSI"),
        ("???", "LicenseRef-none"),
    ],
)
def test_a_text_with_a_version_is_an_spdx_id_and_any_other_a_reference(text, name):
    assert licence_id(text) == name
    assert is_licence_id(name)
    assert is_spdx_id(name) != name.startswith("LicenseRef-")


@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_the_licence_of_a_card_has_the_form_of_an_id(source):
    assert is_licence_id(source.card.access.licence)


def test_samples_hold_the_ids_of_the_texts_in_a_table(built_layout):
    samples = pd.read_parquet(built_layout("covid-chestxray", "scored").samples)
    assert set(map(is_licence_id, samples["licence"])) == {True}
    assert {"CC-BY-NC-SA-4.0", "LicenseRef-CC-BY-NC-ND"} & set(samples["licence"])
    passed_on = samples["licence"][samples["redistribute"]]
    assert not passed_on.str.contains("ND|authorized|per-image").any()
