"""The course's public address: one setting, in the top-level ``pyproject.toml``.

    [tool.transformer-anatomy]
    repository = "https://github.com/OWNER/NAME"
    branch = "main"

``repository = ""`` says that the course is not public yet: then nothing links to it, and the notebooks' first cell
installs the course from a file. The build copies the setting to ``course/anatomy/address.json``, for learners.
"""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from autograder import ROOT

from .cells import SourceError

PUBLIC = re.compile(r"https://github\.com/([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+)")
BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # no slash: Binder's and Colab's URLs cannot hold one here
FILE = ROOT / "course" / "anatomy" / "address.json"


@dataclass(frozen=True)
class Address:
    """owner, name: of the repository; "" if the course is not public. version: of the learner's package."""

    owner: str
    name: str
    branch: str
    version: str

    @property
    def repository(self) -> str:
        """``https://github.com/OWNER/NAME``, or ""."""
        return f"https://github.com/{self.owner}/{self.name}" if self.owner else ""

    @property
    def wheel(self) -> str:
        """File name of the learner's package."""
        return f"transformer_anatomy-{self.version}-py3-none-any.whl"

    @property
    def wheel_address(self) -> str:
        """URL of that file, in the release of this version; "" if the course is not public."""
        return f"{self.repository}/releases/download/v{self.version}/{self.wheel}" if self.owner else ""

    def links(self, unit: str) -> list[tuple[str, str]]:
        """[(label, URL)] of the services that open a unit's notebook; [] if the course is not public."""
        if not self.owner:
            return []
        where, book = f"{self.owner}/{self.name}", f"{unit}/{unit}.ipynb"
        released = f"{self.branch}/course/{book}"
        source = f"{self.repository}/blob/{released}"
        # Binder opens the learner's copy, which .binder/postBuild makes of every notebook.
        copy = quote(f"lab/tree/work/{book}", safe="")
        return [
            ("Colab", f"https://colab.research.google.com/github/{where}/blob/{released}"),
            ("Kaggle", f"https://www.kaggle.com/kernels/welcome?src={quote(source, safe=':/')}"),
            ("Binder", f"https://mybinder.org/v2/gh/{where}/{self.branch}?urlpath={copy}"),
            ("Download", self.raw(f"course/{book}")),
        ]

    def raw(self, path: str) -> str:
        """URL of a file's bytes. path: from the repository's root. "" if the course is not public."""
        return f"https://raw.githubusercontent.com/{self.owner}/{self.name}/{self.branch}/{path}" if self.owner else ""

    def to_json(self) -> bytes:
        """Bytes of ``course/anatomy/address.json``."""
        known = {"branch": self.branch, "repository": self.repository, "version": self.version}
        return (json.dumps(known, indent=1, sort_keys=True) + "\n").encode()


def read(root: Path = ROOT) -> Address:
    """The setting. Raises SourceError, with one sentence on what to write, if it is invalid."""
    said = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    setting = said.get("tool", {}).get("transformer-anatomy", {})
    package = (root / "course" / "anatomy" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "([^"]+)"', package, re.M)
    if version is None:
        raise SourceError(
            'course/anatomy/__init__.py: say which release this is, in a line such as __version__ = "1.0"'
        )
    repository, branch = setting.get("repository", ""), setting.get("branch", "main")
    found = PUBLIC.fullmatch(repository.removesuffix("/").removesuffix(".git")) if isinstance(repository, str) else None
    if repository != "" and (found is None or found[1] == "OWNER"):
        raise SourceError(
            f'pyproject.toml: repository = {repository!r} is no public address; write "https://github.com/" with '
            'owner and name, or "" where there is none yet (Colab, Kaggle and Binder open notebooks from GitHub)'
        )
    if not isinstance(branch, str) or not BRANCH.fullmatch(branch):
        raise SourceError(f"pyproject.toml: branch = {branch!r} must be one word without a slash, such as main")
    owner, name = found.groups() if found else ("", "")
    return Address(owner, name, branch, version[1])
