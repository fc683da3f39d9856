"""The frame of a page of HTML, in the language in use and in the reader's theme."""

from .translation import tag


def html_page(title: str, head: str, body: str) -> str:
    """A whole page. title, head (what is in it besides) and body are HTML, so texts in them are escaped already."""
    return f"""<!doctype html>
<html lang="{tag()}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
{head}
</head>
<body>
{body}
</body>
</html>
"""
