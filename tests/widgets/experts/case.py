"""ExpertsExplorer with right functions, and its controls."""

from anatomy.widgets import ExpertsExplorer
from anatomy.widgets.experts.settings import MEAN, MORE, ROUTERS

from autograder.exercises.u15_experts_and_drafts.balance_bias import by_loop
from autograder.exercises.u15_experts_and_drafts.capacity import by_queue
from autograder.exercises.u15_experts_and_drafts.route import biased_by_rows, softmax_by_hand

from ..case import Case

OPEN = {"more": True}
CASE = Case(
    ExpertsExplorer,
    (
        {
            "route": softmax_by_hand,
            "route_biased": biased_by_rows,
            "balanced_bias": by_loop,
            "within_capacity": by_queue,
        },
    ),
    [
        ("slider", "bias of expert 0", "bias0", "ArrowLeft"),
        ("slider", "bias of expert 1", "bias1", "ArrowRight"),
        ("slider", "bias of expert 2", "bias2", "End"),
        ("slider", "word", "word", "ArrowRight"),
        ("group", "experts for a word", "k", "ArrowRight", OPEN),
        ("group", "router (scores the experts)", "router", "ArrowRight", {**OPEN, "k": 2}),
        ("combobox", "room of an expert", "room", "ArrowDown", OPEN),
        ("button", "more settings", "more", "Enter"),
    ],
    silent=("more",),
    crowded=(
        {},
        {"bias0": 6, "bias1": 0, "bias2": 0, "k": 2},
        {**OPEN, "k": 2, "room": MEAN},
        {**OPEN, "k": 2, "room": MORE, "router": ROUTERS[1]},
        {**OPEN, "k": 2, "room": MEAN, "bias0": 0, "bias1": 0, "bias2": 6},
    ),
)
