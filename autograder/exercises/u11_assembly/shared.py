"""Random weights by name, configurations that are small and odd, and exercises of earlier units asked again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from anatomy.models import config
from torch import Tensor, nn

from autograder.judge.spec import Case, Exercise, Implementation, Mutant, Program, Source

Config = dict[str, Any]
Asked = dict[str, Exercise]  # no list: a unit's lists hold its own exercises

# GPT-2's choices and LLaMA's, in sizes where nothing equals anything else by chance.
LLAMA = {"vocab": 13, "d_model": 12, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "head_dim": 6, "d_ff": 10}
GPT = {
    "vocab": 13,
    "d_model": 12,
    "n_layers": 2,
    "n_heads": 3,
    "d_ff": 10,
    "norm": "layer",
    "position": "learned",
    "max_positions": 9,
    "activation": "gelu_tanh",
    "gated": False,
    "attention_bias": True,
    "out_bias": True,
    "ffn_bias": True,
}
# For cases that ask for gradients: a gradient is as large as its weight, and each known mistake has its own.
SLIM = {"vocab": 7, "d_model": 6, "n_layers": 1, "n_heads": 2, "d_ff": 5}
SLIM_LLAMA = {**SLIM, "n_kv_heads": 1, "head_dim": 4}


def llama(**changes: Any) -> Config:
    """A small LLaMA with shared key-value heads and a head dim of its own."""
    return config(**{**LLAMA, **changes})


def gpt(**changes: Any) -> Config:
    """A small GPT-2: biases everywhere, learned positions."""
    return config(**{**GPT, **changes})


def weights(g: Source, module: nn.Module, dtype: torch.dtype = torch.float32, spread: float = 1.5) -> dict[str, Tensor]:
    """A random value for each weight of a module: factors of norms near 1, matrices that keep sizes, biases not 0.

    spread: of matrices; 1 keeps a vector's length. Less where a softmax over unscaled scores would be too sharp.
    """
    drawn = {}
    for name, tensor in module.state_dict().items():
        if tensor.dim() == 1:
            is_factor = name.rpartition(".")[2] == "weight"
            drawn[name] = g.uniform(len(tensor), low=0.5, high=1.5) if is_factor else g.randn(len(tensor), scale=0.5)
        else:
            drawn[name] = g.randn(*tensor.shape, scale=spread * tensor.shape[1] ** -0.5)
    return {name: tensor.to(dtype) for name, tensor in drawn.items()}


def made(g: Source, name: str, reference: Callable[..., nn.Module], *args: Any, **kwargs: Any) -> Program:
    """A program that makes a module of the learner's and loads drawn weights; the arguments are the reference's too."""
    real = [{"toy_attention": toy_attention, "toy_ffn": toy_ffn}.get(getattr(a, "name", ""), a) for a in args]
    return Program().new(name, *args, state=weights(g, reference(*real, **kwargs)), **kwargs)


def toy_attention(c: Config) -> nn.Module:
    """The course's toy, for the names of weights: it has none."""
    return nn.Identity()


toy_ffn = toy_attention


def causal(a: int, b: int) -> Tensor:
    """Rows a to b of a causal mask, for keys up to b: (b - a, b)."""
    return torch.ones(b, b).tril()[a:b].bool()


def bounds(plan: Sequence[int]) -> list[tuple[int, int]]:
    """(first, behind the last) token of each chunk."""
    ends = [sum(plan[: i + 1]) for i in range(len(plan))]
    return list(zip([0, *ends], ends, strict=False))


def variant(base: type, **methods: Any) -> type:
    """A class with some methods exchanged, which may call ``super`` as in a class statement."""
    return type(base.__name__, (base,), methods)


def again(*modules: ModuleType) -> Asked:
    """The exercises of earlier units' modules, by id."""
    return {m.EXERCISE.id: m.EXERCISE for m in modules}


def cases_again(exercises: Asked, words: dict[str, str]) -> list[Case]:
    """The cases of earlier exercises. words: exercise id → what stands in front of that which its cases show."""
    return [
        replace(
            case,
            name=f"{e.targets[0]}: {case.name}",
            shows=f"{words[e.id]}: {case.shows}" if e.id in words else case.shows,
            build=_on_first_target(case.build, e.targets[0]),
        )
        for e in exercises.values()
        for case in e.cases
    ]


def _on_first_target(build: Callable[[Source], Program], target: str) -> Callable[[Source], Program]:
    def on_target(g: Source) -> Program:
        program = build(g)
        for step in program.steps:
            if "call" in step and step["call"] is None and step["on"] is None:
                step["call"] = target
        return program

    return on_target


def together(exercises: Asked, chosen: Callable[[Exercise], Implementation | None] = lambda e: None) -> Implementation:
    """All targets of several exercises: the references, or what ``chosen`` gives for an exercise instead."""
    found: list[Any] = []
    for exercise in exercises.values():
        found += exercise.functions(chosen(exercise) or exercise.reference).values()
    return tuple(found)


def alternatives_again(exercises: Asked, count: int) -> list[Implementation]:
    """All targets of several exercises, written as the first alternative of each, as the second, and so on."""

    def written(i: int) -> Implementation:
        return together(exercises, lambda exercise: exercise.alternatives[i])

    return [written(i) for i in range(count)]


def mutants_again(exercises: Asked) -> list[Mutant]:
    """All known mistakes of earlier exercises, one at a time, each with the functions' names in front of its message.

    A mistake belongs to the function: who makes it again is told the same as the first time.
    """
    found = []
    for exercise in exercises.values():
        for mutant in exercise.mutants:
            is_said = any(t in mutant.message for t in exercise.targets)
            message = mutant.message if is_said else f"{'/'.join(exercise.targets)}: {mutant.message}"
            wrong = together(exercises, lambda e, e0=exercise, m=mutant: m.fn if e is e0 else None)  # type: ignore[misc]
            found.append(Mutant(f"{exercise.targets[0]}_{mutant.name}", wrong, message, mutant.change))
    return found
