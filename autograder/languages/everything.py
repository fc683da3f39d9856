"""Makes up-to-date catalogues of all languages."""

from dataclasses import dataclass, field
from pathlib import Path

from autograder import exercises
from autograder.notebooks import wording

from . import agree, catalogues, compiled, extract, labels, words
from .words import Entry


@dataclass
class Made:
    """The output of ``make catalogs``. files: path → bytes. problems: sentences about translations to correct."""

    files: dict[Path, bytes] = field(default_factory=dict)
    report: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def entries() -> dict[str, list[Entry]]:
    """dict name of a catalogue → its entries. Raises SourceError, exercises.SpecError."""
    units, phrases = {}, words.Found()
    for unit in exercises.units():
        units[unit], found = words.of_unit(unit)
        for mark in found:
            phrases.add(wording.BUILD, mark.says, "notebooks", "")
    # What a release adds; of these, grading must recognize a written answer that is still empty.
    for english, where in wording.OF_RELEASE.items():
        phrases.add(wording.BUILD, english, "notebooks", where, runs=True)
    return {
        "notebooks": list(phrases.entries.values()),
        "messages": extract.of_package(),
        "widgets": extract.of_widgets(),
        "site": extract.of_site(),
        "docs": extract.of_docs(),
        "labels": labels.of_course(),
        **units,
    }


def updated(begin: str = "", units: list[str] | None = None, folder: Path = catalogues.FOLDER) -> Made:
    """Update every catalogue.

    begin: a language that may be new. units: units for which this language gets a catalogue if it has none yet.
    Raises SourceError, exercises.SpecError, CatalogueError.
    """
    made, every = Made(), entries()
    for language in sorted({*catalogues.languages(folder), *([begin] if begin else [])}):
        run = []
        for name, wanted in every.items():
            path = catalogues.path_of(language, name, folder)
            asked = language == begin and name in (units or [])
            if name[:1].isdigit() and not path.exists() and not asked:
                made.report.append(f"{language}  {name:24} not begun ({len(wanted)} entries)")
                continue
            catalog = catalogues.updated(wanted, catalogues.read(path) if path.exists() else None, language)
            made.files[path] = catalogues.to_bytes(catalog)
            done = catalogues.count(catalog)
            made.report.append(f"{language}  {name:24} {done.translated}/{done.total} translated")
            made.problems += [f"{path.name}: {problem}" for problem in agree.problems(catalog)]
            run.append((wanted, catalog))
        made.files[compiled.path_of(language)] = compiled.to_bytes(run, language)
    return made
