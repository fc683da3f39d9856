"""The forms and pages for people who report something: hosts can read the forms, and what the pages name exists."""

import re

import pytest
import yaml

from autograder import ROOT, exercises

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
KINDS = {"markdown", "input", "textarea", "dropdown", "checkboxes"}
KEYS = {"name", "description", "title", "labels", "body"}
PAGES = ("SECURITY.md", "CODE_OF_CONDUCT.md")


def test_there_is_a_form_for_each_kind_of_report():
    assert [form.stem for form in FORMS] == ["new-exercise", "unclear-text", "wrong-check"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_is_what_hosts_read(form):
    said = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert set(said) == KEYS and all(isinstance(label, str) for label in said["labels"])
    fields = [part for part in said["body"] if part["type"] != "markdown"]
    ids = [part["id"] for part in fields]
    assert len(set(ids)) == len(ids) > 3 and all(re.fullmatch(r"[\w-]+", name) for name in ids)
    assert any(part.get("validations", {}).get("required") for part in fields)
    for part in said["body"]:
        assert part["type"] in KINDS and set(part) <= {"type", "id", "attributes", "validations"}
        if part["type"] == "markdown":
            assert set(part["attributes"]) == {"value"}
        else:
            assert part["attributes"]["label"].strip() and not set(part.get("validations", {})) - {"required"}
        if part["type"] == "dropdown":
            options = part["attributes"]["options"]
            assert len(set(options)) == len(options) > 1 and all(isinstance(option, str) for option in options)


def test_a_way_around_the_judge_is_not_reported_in_public():
    form = (ROOT / ".github" / "ISSUE_TEMPLATE" / "wrong-check.yml").read_text(encoding="utf-8")
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "SECURITY.md" in form and "Privately" in security and "(docs/threat-model.md)" in security


def test_a_form_s_example_is_an_exercise():
    for form in FORMS:
        for part in yaml.safe_load(form.read_text(encoding="utf-8"))["body"]:
            for name in re.findall(r"\b[a-z]+\.[a-z_]+\b", part["attributes"].get("placeholder", "")):
                exercises.get(name)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    named = re.findall(r"`([\w.-]+(?:/[\w.-]*)+|[A-Z]+\.md)`", text)
    assert linked and all((ROOT / path).exists() for path in (*linked, *named))
