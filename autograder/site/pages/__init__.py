"""The site's pages besides units and gallery: each module here has ``pages()``: path without suffix → MyST source."""
