"""Settings of Sphinx for the documentation's site. build.py calls Sphinx with them."""

import os

project = "Trident"
author = "the Trident authors"
version = release = os.environ["DOCS_VERSION"]
html_title = f"Trident {version}"
language = "en"

extensions = ["myst_parser"]
root_doc = "index"
# Headings have the anchors of GitHub. The rest of MyST's own syntax is off, because pages are plain Markdown.
myst_heading_anchors = 6
myst_enable_extensions = ["strikethrough", "tasklist"]
myst_disable_syntax = ["myst_role", "myst_target", "myst_line_comment", "myst_block_break"]
# Some examples are parts of files, which Pygments can't read.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
nitpicky = True
# Quotes and hyphens stay as they are written: --flag isn't –flag.
smartquotes = False

html_theme = "furo"
html_static_path = [os.path.join(os.path.dirname(__file__), "static")]
html_css_files = ["site.css"]
html_js_files = ["search.js", "versions.js", "diagrams.js"]
html_search_scorer = os.path.join(os.path.dirname(__file__), "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
