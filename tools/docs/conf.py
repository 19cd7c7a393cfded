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

html_theme = "furo"
html_static_path = [os.path.join(os.path.dirname(__file__), "static")]
html_css_files = ["site.css"]
html_js_files = ["versions.js", "diagrams.js"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "monokai"
