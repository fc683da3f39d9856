"""CONTRIBUTING can't rot: its folders, files, targets and modules exist, and every folder has its line."""

import importlib.util
import re
import subprocess

import pytest

from autograder import ROOT, exercises, measured

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
KINDS = ("exercise", "widget", "experiment", "unit", "language")


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]


def listed():
    """Patterns for the folders listed under The house; ``course/NN-name/`` matches every unit."""
    rows = re.findall(r"^\| (`[^|]+) \|", section("The house"), re.M)
    names = [n.rstrip("/") for row in rows for n in re.findall(r"`([^`]+)`", row)]
    return [re.compile(re.escape(n).replace("NN\\-name", r"\d\d-[\w-]+")) for n in names]


def folders():
    """Folders with tracked or new files, two levels deep and three in the learner's package."""
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = set()
    for name in files:
        parts = name.split("/")[:-1] if (ROOT / name).is_file() else []
        depth = (
            3
            if parts[:2] == ["course", "anatomy"]
            else 1
            if parts[:1] in (["tests"], ["solutions"], [".github"], ["locale"])
            else 2
        )
        if parts:
            found.add("/".join(parts[:depth]))
    return sorted(found)


def test_every_folder_has_its_line():
    patterns = listed()
    inside_widgets = re.compile(r"course/anatomy/widgets/.+")
    without = [f for f in folders() if not any(p.fullmatch(f) for p in patterns) and not inside_widgets.fullmatch(f)]
    known_parents = {"course", "course/anatomy", "assets", "autograder"}  # described with their folders
    assert not set(without) - known_parents, f"give each a line in CONTRIBUTING, The house: {without}"


def test_every_line_has_its_folder():
    present = [str(p.relative_to(ROOT)) for p in ROOT.glob("*")] + folders()
    absent = [p.pattern for p in listed() if p.pattern != "work" and not any(p.fullmatch(f) for f in present)]
    assert not absent


DOCUMENTS = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/contributing/*.md")]
PAGES = ("CONTRIBUTING.md", "README.md", "benchmarks/README.md", *(p.relative_to(ROOT).as_posix() for p in DOCUMENTS))


@pytest.mark.parametrize("page", PAGES)
def test_files_and_tests_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|docs|autograder|course|solutions)/[\w/.-]+\.\w+)`", text))
    made_by_example = {"autograder/exercises/u04_ffn_and_gating/hard_swish.py"}
    assert page != "CONTRIBUTING.md" or len(named) >= 10
    assert not [n for n in named - made_by_example if not (ROOT / n).is_file() and not re.search(r"NN[-_]name", n)]


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    makefiles = (ROOT / "Makefile").read_text() + (ROOT / "autograder" / "staff.mk").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefiles, re.M))
    code = "\n".join(a or b for a, b in re.findall(r"```(?:sh)?\n(.*?)```|`([^`\n]+)`", text, re.S))
    commands = re.sub(r"(?m)\s#.*", "", code)
    used = {t for line in re.findall(r"(?m)(?:^|&& )make ((?:[a-z-]+\b ?)+)(?![=\w])", commands) for t in line.split()}
    assert used <= targets, used - targets
    assert page != "CONTRIBUTING.md" or {"exercise", "test", "test-changed", "preview", "site", "release"} <= used
    for module in re.findall(r"python -m ([\w.]+)", code):
        assert importlib.util.find_spec(module), module


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_to_headings_in_them(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"(?<!!)\]\((?!https?:|mailto:)([^()\s]+)\)", text):
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), re.M)
            slugs = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]
            assert anchor in slugs, (target, slugs)


READMES = {page: (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "README.zh-CN.md")}


def test_a_stranger_reads_the_readme_in_two_minutes():
    shown = re.sub(r"<[^>]+>|\]\([^)]*\)|[|#*`\[\]-]+", " ", READMES["README.md"])
    assert len(shown.split()) <= 500


def test_both_readmes_link_all_units_and_give_the_measured_numbers():
    for page, text in READMES.items():
        linked = re.findall(r"^\| \[(\d\d-[\w-]+)\]\((\S+)\) \|", text, re.M)
        assert linked == [(u, f"course/{u}/{u}.ipynb") for u in exercises.units()], page
        assert measured.filled(page, text) == text, page


def test_the_house_is_read_in_ten_minutes():
    assert len(PAGE.split()) <= 2000


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_page_an_example_and_a_test(kind):
    text = (ROOT / "docs" / "contributing" / f"{kind}.md").read_text(encoding="utf-8")
    assert f"docs/contributing/{kind}.md" in PAGE
    assert f"examples/{kind}" in text and (ROOT / "docs" / "examples" / kind).is_dir()
    followed = [p.name for p in (ROOT / "tests" / "authoring").glob("test_*.py")]
    assert any(kind[:5] in name for name in followed), followed
