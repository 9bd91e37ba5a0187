"""Sphinx builds these pages as a site:  make docs.  Warnings, such as a broken link, are errors."""

import importlib

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import medrcube

project = "medrcube"
author = "The medrcube maintainers"
version = release = medrcube.__version__
copyright = author  # noqa: A001 - Sphinx names it so

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_class_signature = "separated"  # made by functions, not by their constructors
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"medrcube {version}"
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

SECTIONS = ("how-to", "reference", "explanation", "decisions")
"""Folders whose pages are all in the navigation."""


class ColumnTable(SphinxDirective):
    """A table of the columns that a constant of the interface maps to their meanings."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the constant, named by its full path."""
        module, _, name = self.arguments[0].rpartition(".")
        columns = getattr(importlib.import_module(module), name)
        rows = "\n".join(f"| `{column}` | {meaning} |" for column, meaning in columns.items())
        table = f"| Column | Meaning |\n|---|---|\n{rows}\n".replace("``", "`")
        return self.parse_text_to_nodes(table)


def add_navigation(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Give the index of a section every page of its folder, so that no list has to be kept.

    The pages stay plain Markdown, which a code host shows as it is.
    """
    section, _, page = docname.partition("/")
    if page == "index" and section in SECTIONS:
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def setup(app: Sphinx) -> None:
    """Register what this file adds."""
    app.add_directive("columns", ColumnTable)
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", add_navigation)
