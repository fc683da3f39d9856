"""Colors of the drawings: one set of variables for light pages and one for dark ones, in a single style sheet.

JupyterLab's theme may differ from the system's, so JupyterLab's variables and its mark on the page come first; a stored
file follows ``prefers-color-scheme``.
"""

LIGHT = {
    "ink": "#1c1c1c",
    "soft": "#4a4a4a",
    "paper": "#ffffff",
    "box": "#f3f4f6",
    "rule": "#6b7078",
    "one": "#0072b2",
    "two": "#c65700",
    "good": "#00795a",
}
DARK = {
    "ink": "#ececec",
    "soft": "#c4c4c4",
    "paper": "#141414",
    "box": "#24272c",
    "rule": "#8a909a",
    "one": "#56b4e9",
    "two": "#e69f00",
    "good": "#3fd0a4",
}
# JupyterLab's names for the same colors; the value after the comma is for pages without JupyterLab.
JUPYTER = {"ink": "--jp-content-font-color1", "paper": "--jp-layout-color0"}

SIZE, TITLE_SIZE = 12, 13  # text sizes in pixels
# A drawing scaled below this factor scrolls sideways, because its text would be smaller than 11 pixels.
NARROWEST = 11 / SIZE

# Selectors of pages that state their theme: JupyterLab, VS Code, and sites made with Sphinx's or Jupyter Book's themes.
_SAY_LIGHT = ('[data-jp-theme-light="true"]', '[data-theme="light"]')
_SAY_DARK = ('[data-jp-theme-light="false"]', '[data-theme="dark"]', ".vscode-dark")


def _set(colors: dict[str, str]) -> str:
    values = {k: f"var({JUPYTER[k]}, {v})" if k in JUPYTER else v for k, v in colors.items()}
    return "{ " + " ".join(f"--ad-{k}: {v};" for k, v in values.items()) + " }"


STYLE = f"""
.ad {_set(LIGHT)}
@media (prefers-color-scheme: dark) {{ .ad {_set(DARK)} }}
:is({", ".join(_SAY_LIGHT)}) .ad {_set(LIGHT)}
:is({", ".join(_SAY_DARK)}) .ad {_set(DARK)}
.ad {{ forced-color-adjust: none; }}
.ad text {{ font: {SIZE}px system-ui, 'DejaVu Sans', sans-serif; fill: var(--ad-ink); }}
.ad .title {{ font-size: {TITLE_SIZE}px; font-weight: 600; }}
.ad .shape, .ad .note {{ fill: var(--ad-soft); paint-order: stroke; stroke: var(--ad-paper); stroke-width: 5px;
  stroke-linejoin: round; }}
.ad .paper {{ fill: var(--ad-paper); }}
.ad .part, .ad .norm, .ad .mix, .ad .ffn, .ad .kept {{ fill: var(--ad-box); stroke: var(--ad-rule);
  stroke-width: 1.3; }}
.ad .norm {{ stroke: var(--ad-one); stroke-width: 2; }}
.ad .mix {{ stroke: var(--ad-two); stroke-width: 2; stroke-dasharray: 6 3; }}
.ad .ffn {{ stroke: var(--ad-two); stroke-width: 2; }}
.ad .kept {{ stroke: var(--ad-good); stroke-width: 2.5; stroke-dasharray: 2 2; }}
.ad .sum {{ fill: var(--ad-paper); stroke: var(--ad-ink); stroke-width: 1.5; }}
.ad .frame {{ fill: none; stroke: var(--ad-rule); stroke-width: 1.2; stroke-dasharray: 1 3; stroke-linecap: round; }}
.ad .on {{ fill: var(--ad-one); stroke: var(--ad-rule); }}
.ad .off {{ fill: var(--ad-paper); stroke: var(--ad-rule); }}
.ad .band0 {{ fill: var(--ad-one); stroke: var(--ad-paper); }}
.ad .band1 {{ fill: var(--ad-box); stroke: var(--ad-rule); }}
.ad .band2 {{ fill: var(--ad-two); stroke: var(--ad-paper); }}
.ad .band3 {{ fill: var(--ad-rule); stroke: var(--ad-paper); }}
.ad .new {{ fill: var(--ad-good); stroke: var(--ad-rule); }}
.ad .old {{ fill: var(--ad-box); stroke: var(--ad-good); }}
.ad .wire {{ fill: none; stroke: var(--ad-rule); stroke-width: 1.5; }}
.ad .thin {{ fill: none; stroke: var(--ad-rule); stroke-width: 1; }}
.ad .stream {{ fill: none; stroke: var(--ad-one); stroke-width: 4; }}
.ad .head {{ fill: var(--ad-rule); }}
.ad .stream-head {{ fill: var(--ad-one); }}
"""

# Style of the page around drawings side by side; they break into rows if there is too little room.
PAGE_STYLE = """
.ad-row { display: flex; flex-wrap: wrap; gap: 12px 16px; align-items: flex-end; overflow-x: auto; margin: 0; }
.ad-row > svg { flex: none; height: auto; }
"""
