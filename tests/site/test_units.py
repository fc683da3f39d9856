"""A unit's page: the released text next to the outputs of the solved notebook, and no solution."""

import nbformat
import pytest

from autograder.site import units
from autograder.site.live import Shelf

SECRET = "return weights @ values / weights.sum()"
STUB = "raise NotImplementedError"


def books(output="tensor(7.4)", shown="words @ weights"):
    """(released, executed) notebooks of a unit with one exercise and one cell with output."""

    def made(solve):
        cells = [
            nbformat.v4.new_markdown_cell("# Title\n\nWords."),
            nbformat.v4.new_code_cell(solve),
            nbformat.v4.new_code_cell(shown),
        ]
        for cell, name in zip(cells, ("c-1", "solve-a", "c-2"), strict=True):
            cell["id"] = name
        cells[1].metadata["nbgrader"] = {"solution": True, "grade": False}
        return nbformat.v4.new_notebook(cells=cells)

    released = made(f"def f():\n    {STUB}")
    solved = made(f"def f():\n    ### BEGIN SOLUTION\n    {SECRET}\n    ### END SOLUTION")
    solved.cells[1].outputs = [nbformat.v4.new_output("stream", text="of the solution")]
    solved.cells[2].outputs = [nbformat.v4.new_output("stream", text=output)]
    return released, solved


def page(tmp_path, **changes):
    released, solved = books(**changes)
    unit = units.Unit(released, solved, {"unit": "00-start-here", "quizzes": []}, tmp_path, Shelf(tmp_path))
    return unit.page()


def test_stub_without_output_and_output_of_what_is_no_exercise(tmp_path):
    told = nbformat.writes(page(tmp_path))
    assert STUB in told and "tensor(7.4)" in told and "of the solution" not in told and SECRET not in told


def test_the_line_where_to_open_it_stands_under_the_title(tmp_path):
    first = page(tmp_path).cells[0].source
    assert first.startswith('# Title\n\n<div class="ta-open"') and "notebooks/00-start-here.ipynb" in first


def test_an_output_that_shows_a_solution_stops_the_build(tmp_path):
    with pytest.raises(units.Leak, match="weights.sum"):
        page(tmp_path, output=f"your answer:\n{SECRET}")


def test_what_is_about_one_computer_is_not_shown(tmp_path):
    told = nbformat.writes(page(tmp_path, output="progress is kept in /tmp/x", shown="environment_report()"))
    assert "/tmp/x" not in told and "environment_report()" in told


def test_an_output_of_an_unknown_kind_is_an_error(tmp_path):
    released, solved = books()
    solved.cells[2].outputs = [nbformat.v4.new_output("display_data", data={"application/pdf": "x"})]
    with pytest.raises(ValueError, match="application/pdf"):
        units.Unit(released, solved, {"unit": "00-start-here", "quizzes": []}, tmp_path, Shelf(tmp_path)).page()
