"""From a folder of solved notebooks to LLaMA: answers written from the text alone become the whole model."""

import pytest
import torch
from anatomy import evaluate, parts
from anatomy.models.compare import compare
from anatomy.parts import bringing
from anatomy.parts.judged import look
from anatomy.program import records

from autograder import ROOT
from tests.course.learners_folder import COMPLETE, write_folder
from tests.models.learner import solved

UNIT = "11-assembly"
UNITS = ["02-normalization", "03-norm-placement", "04-ffn-and-gating", "05-position-encodings", "06-rope"]
UNITS += ["08-kv-cache-and-gqa", "10-stability"]


def asked_for():
    """The exercises that unit 11's answer cells bring in."""
    text = (ROOT / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
    calls = [line.split('bring="')[1].split('"')[0] for line in text.splitlines() if ' bring="' in line]
    return [exercise for call in calls for exercise in call.split()]


@pytest.fixture(scope="module", params=COMPLETE)
def brought(request, tmp_path_factory):
    """The code that parts.bring inserts into unit 11, from a folder with one person's answers."""
    folder = write_folder(tmp_path_factory.mktemp("work"), UNITS, request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANATOMY_NOTEBOOKS", str(folder))
        found = [look(exercise) for exercise in asked_for()]
        assert not [p.problem for p in found if p.why], "every part is the learner's own"
        assert "still to do" not in repr(parts.show(*asked_for()))
        return bringing.code_of(found)


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen3", "olmo2", "gemma2", "gpt2", "t5"])
def test_own_parts_assemble_to_real_models(brought, name):
    mine = solved(UNIT, brought)
    found = compare(name, mine.build, mine.rename, mine.unfuse if name == "gpt2" else None)
    assert found.equal, found


def test_what_is_brought_is_not_the_solution(brought):
    """The learner's code ran: it contains none of the unit's own answers to these exercises."""
    theirs, ours = solved(UNIT, brought), solved(UNIT)
    for name in ("rms_norm", "apply_rope_half", "grouped_attention"):
        assert getattr(theirs, name).__code__.co_code != getattr(ours, name).__code__.co_code, name


def test_brought_code_passes_unit_11s_own_checks(brought):
    mine = solved(UNIT, brought)
    for exercise in ("assembly.parts", "assembly.wirings"):
        assert evaluate(exercise, *(getattr(mine, name) for name in records.load(exercise).targets)).passed


BOTH_WRONG = """
right = apply_rope_half
def apply_rope_half(x, position_ids, base=10000.0):
    return right(x, -position_ids, base)
"""
ONE_WRONG = """
right, turns = apply_rope_half, []
def apply_rope_half(x, position_ids, base=10000.0):
    turns.append(x)
    return right(x, position_ids if len(turns) % 2 else -position_ids, base)
"""


@torch.no_grad()
@pytest.mark.parametrize("more", [BOTH_WRONG, ONE_WRONG])
def test_a_wrong_part_is_felt_in_the_whole(brought, more):
    """Rotating in the opposite direction, always or only at every second call, does not give the real model."""
    mine = solved(UNIT, brought + more)
    assert not compare("llama", mine.build, mine.rename).equal
