"""Sphinx's settings. ``autograder.site.build`` passes the settings that differ between builds."""

project = "Transformer Anatomy"
html_title = project
author = ""
extensions = [
    "myst_nb",
    "autograder.site.formulas",
    "autograder.site.chinese",
    "autograder.site.furnishing",
    "autograder.site.about",
]
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, str] = {}  # our own scripts run the widgets, and nothing is loaded from other sites
nb_merge_streams = True
# A code block with IPython's "!command" is not Python, but is highlighted anyway.
suppress_warnings = ["misc.highlighting_failure"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
myst_update_mathjax = False
html_math_renderer = "mathml"
html_theme = "furo"
html_favicon = "static/site-icon.svg"
html_static_path = ["_static"]
templates_path: list[str] = []
html_css_files = ["live/widgets.css", "site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
html_permalinks_icon = "#"
pygments_style = "autograder.site.ink.Light"
pygments_dark_style = "autograder.site.ink.Dark"
# For other code blocks; a unit's cells are highlighted in the language of its kernel.
highlight_language = "none"
PAPER, INK = "#ffffff", "#1d1f23"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#00557f",
        "color-brand-content": "#00629a",
        "color-brand-visited": "#5b4b8a",
        "color-background-primary": PAPER,
        "color-background-secondary": "#f6f7f8",
        "color-foreground-primary": INK,
        "color-foreground-secondary": "#4b5058",
        "color-foreground-muted": "#5d636c",
        "color-background-border": "#e2e5e9",
        "color-sidebar-link-text": "#33373d",
        "color-code-background": "#f6f7f8",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4ec",
        "color-brand-content": "#6fbdea",
        "color-brand-visited": "#b9a7ec",
        "color-background-primary": "#141414",
        "color-background-secondary": "#1b1c1e",
        "color-foreground-primary": "#e4e5e7",
        "color-foreground-secondary": "#b9bdc4",
        "color-foreground-muted": "#9aa0a9",
        "color-background-border": "#303338",
        "color-sidebar-link-text": "#c9ccd1",
        "color-code-background": "#1b1c1e",
    },
}
