"""Settings of the documentation site: `make docs` writes it to build/site.

The pages are README, CONTRIBUTING, CHANGELOG and docs/, as they are. The site asks no other host for anything: the
theme brings its fonts and scripts, search runs in the browser, and formulas are MathML.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

import thrifty

project = "thrifty"
version = release = thrifty.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "front_page",
    "mathml",
    "members",
    "navigation",
]
root_doc = "docs/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**"]
exclude_patterns = [".*", "benchmarks", "build", "deploy", "examples", "src", "tests", "docs/site"]

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_dmath_allow_digits = False  # "$170 per patient" is an amount
myst_dmath_allow_space = False
myst_heading_anchors = 4

autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "inherited-members": "BudgetedEstimator"}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings tell the types
napoleon_use_ivar = True
napoleon_use_param = False  # types are text, not links
napoleon_use_rtype = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "thrifty"
html_static_path = ["style.css", "scroll.js"]
html_js_files = ["scroll.js"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sphinx = False
