"""Wrong answers as learners write them: each gets a message that can be acted on."""

import pytest
from anatomy.judge import diagnosis

from autograder.messages import hand_written, main, verdict_on_source

WRITTEN = hand_written()


@pytest.fixture
def aloud(monkeypatch):
    """The generic message does not hide that it failed."""
    monkeypatch.setattr(diagnosis, "generic", diagnosis.explained)


@pytest.mark.parametrize(
    "answer", [pytest.param(answer, id=f"{answer.exercise}: {answer.title}") for answer in WRITTEN]
)
def test_the_message_says_what_to_do(answer, aloud):
    verdict = verdict_on_source(answer.exercise, answer.source)
    assert not verdict.passed
    said = " ".join(m.message for m in verdict.mistakes[:2])
    for phrase in answer.says:
        assert phrase in said, verdict.text()
    assert verdict.first_failure.call and len(verdict.text()) < 2_600


def test_they_are_of_many_kinds(aloud):
    assert len(WRITTEN) >= 30 and len({answer.exercise.split(".")[0] for answer in WRITTEN}) >= 10
    kinds = set()
    for answer in WRITTEN:  # until there are enough of them
        kinds.add(verdict_on_source(answer.exercise, answer.source).mistakes[0].name)
        if len(kinds) == 20:
            return
    pytest.fail(f"only {len(kinds)} mistakes: {', '.join(sorted(kinds))}")


def test_one_command_prints_what_a_unit_says(capsys):
    assert main(["--unit", "00-start-here"]) == 0
    said = capsys.readouterr().out
    assert "stub" in said
    diff = ["  mistake plain_mean [named]", "      - weights @ values / weights.sum()", "      + values.mean(0)"]
    assert "\n".join(diff) in said
    assert said.strip().splitlines()[-1].split(":")[1].count(",") == 2
    assert main(["--unit", "99-nowhere"]) == 2
