"""What the scripts that clean texts share: the form of a text, and the command that writes the files."""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anatomy.system import files

Read = Callable[[Path], tuple[Mapping[str, str], Mapping[str, Any]]]  # the source → (name of a file → text, manifest)


def joined(paragraphs: Iterable[str]) -> str:
    """Paragraphs of one line each, with a blank line between them. Raises ValueError if a character isn't ASCII."""
    found = "\n\n".join(paragraphs) + "\n"
    if not found.isascii():
        raise ValueError(f"not ASCII: {sorted({c for c in found if ord(c) > 127})}")
    return found


def command(about: str, package: str, sha256: str, folder: Path, read: Read, argv: Sequence[str] | None) -> None:
    """Command line ``FILE [--out FOLDER]``: writes texts and ``manifest.json``; refuses a file of another digest."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("file", type=Path, help=package)
    parser.add_argument("--out", type=Path, default=folder)
    options = parser.parse_args(argv)
    if hashlib.sha256(options.file.read_bytes()).hexdigest() != sha256:
        parser.exit(2, f"{options.file} is another file than the one that was cleaned: {package}\n")
    texts, manifest = read(options.file)
    for name, text in texts.items():
        files.replace(options.out / f"{name}.txt", text.encode())
    files.replace(options.out / "manifest.json", (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    print(f"{len(texts)} texts, {sum(map(len, texts.values())):,} bytes: {options.out}")
