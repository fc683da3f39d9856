"""Wrong answers as learners write them: each gets a message that can be acted on."""

from unittest import mock

import pytest
from anatomy import diagnosis

from autograder.messages import examples, main

with mock.patch.object(diagnosis, "generic", diagnosis.explained):  # which does not hide that it failed
    FOUND = examples()


@pytest.mark.parametrize("title, name, verdict, phrases", FOUND, ids=[f"{e}: {t}" for t, e, *_ in FOUND])
def test_the_message_says_what_to_do(title, name, verdict, phrases):
    assert not verdict.passed
    said = " ".join(m.message for m in verdict.mistakes[:2])
    for phrase in phrases:
        assert phrase in said, verdict.text()
    assert verdict.first_failure.call and len(verdict.text()) < 2_600


def test_they_are_of_many_kinds():
    assert len(FOUND) >= 30 and len({e.split(".")[0] for _, e, *_ in FOUND}) >= 10
    assert len({v.mistakes[0].name for _, _, v, _ in FOUND}) >= 20


def test_one_command_prints_what_a_unit_says(capsys):
    assert main(["--unit", "00-start-here"]) == 0
    said = capsys.readouterr().out
    assert "stub" in said and "mistake plain_mean" in said or "mistake" in said
    assert said.strip().splitlines()[-1].split(":")[1].count(",") == 2
    assert main(["--unit", "99-nowhere"]) == 2
