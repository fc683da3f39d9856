"""The symbols of the course, and its conventions: where positions begin, what a mask's True means."""

import re
from dataclasses import dataclass

from autograder.notebooks import facts
from autograder.site import links

from ..words import N_, _

HERE = "notation"


@dataclass(frozen=True)
class Letter:
    """A symbol: its TeX, its meaning, an example or a shape, and a unit that uses it with this meaning."""

    tex: str
    means: str
    example: str
    unit: str

    def cell(self) -> str:
        """Id of the first text cell of its unit that has the symbol in a formula. Raises LookupError."""
        wanted = re.compile(rf"(?<![A-Za-z\\]){re.escape(self.tex)}(?![A-Za-z])")
        for cell in facts.unit(facts.by_number(self.unit)).cells:
            formulas = " ".join(re.findall(r"\$\$?(.+?)\$\$?", cell.source, re.S)) if cell.markdown else ""
            if wanted.search(formulas):
                return cell.id
        raise LookupError(f"notation: no formula of unit {self.unit} has {self.tex}")


SIZES = (
    Letter("B", N_("batch: sequences side by side"), "2", "00"),
    Letter("T", N_("length of a sequence; in attention the number of queries"), "6", "00"),
    Letter("S", N_("number of keys, where it differs from $T$"), "9", "00"),
    Letter("d_{model}", N_("width: features of a token"), "512", "00"),
    Letter("H", N_("attention heads"), "8", "00"),
    Letter("G", N_("key-value heads, $G \\le H$"), "2", "00"),
    Letter("D", N_("head dim: features of one head, often $d_{model}/H$"), "64", "00"),
    Letter("D_v", N_("features of a value, where they differ from $D$"), "64", "01"),
    Letter("L", N_("layers"), "12", "09"),
    Letter("N", N_("parameters"), N_("124 million"), "13"),
    Letter("V", N_("vocabulary: number of tokens"), "50,257", "13"),
    Letter("w", N_("window: keys that a query sees, itself included"), "4,096", "09"),
    Letter("r", N_("rank of an adapter"), "8", "13"),
)
TENSORS = (
    Letter("x", N_("the stream, or the input of a layer"), "$(B, T, d_{model})$", "01"),
    Letter("Q", N_("queries"), "$(B, H, T, D)$", "01"),
    Letter("K", N_("keys"), N_("$(B, G, S, D)$, with $G = H$ before unit 08"), "01"),
    Letter("V", N_("values"), "$(B, G, S, D_v)$", "01"),
    Letter("W_O", N_("output projection"), "$(H D, d_{model})$", "01"),
    Letter("\\gamma", N_("gain of a norm"), "$(d_{model})$", "02"),
    Letter("\\beta", N_("bias of a norm; in unit 04 the parameter of Swish"), "$(d_{model})$", "02"),
    Letter("\\varepsilon", N_("what keeps a norm from dividing by 0: under the root"), "$10^{-5}$", "02"),
    Letter("\\theta", N_("angle of one step of a rotary pair"), "$(D/2)$", "06"),
    Letter("R(\\varphi)", N_("rotation by the angle $\\varphi$"), "$(2, 2)$", "06"),
    Letter("\\eta", N_("learning rate"), "0.001", "10"),
    Letter("\\lambda", N_("weight decay"), "0.1", "10"),
)
# (what, what holds for it everywhere)
CONVENTIONS = (
    (
        N_("Positions"),
        N_("count from 0. With a cache of $S - T$ tokens the new ones stand at $S - T, \\dots, S - 1$."),
    ),
    (
        N_("Masks"),
        N_(
            "are boolean, $(T, S)$ or anything that broadcasts to $(B, H, T, S)$; rows are queries, columns are keys."
            ' **True means "may look".** A row with nothing to look at gives zeros, forward and backward.'
        ),
    ),
    (
        N_("Axes"),
        N_("stand in the order $(B, H, T, D)$. Linear maps are `nn.Linear`, so a weight has shape (out, in)."),
    ),
    (
        N_("Rotary pairs"),
        N_(
            "are neighbors, $(x_0, x_1), (x_2, x_3), \\dots$, where a function is called `apply_rope`, and halves, "
            "$(x_i, x_{i + D/2})$, as in LLaMA's code, where it is called `apply_rope_half`."
        ),
    ),
    (
        N_("Epsilon"),
        N_(
            "stands under the root, added to the variance or the mean square. It is 1e-5 in LayerNorm and 1e-6 in "
            "RMSNorm, unless an exercise says otherwise."
        ),
    ),
    (
        N_("Variance"),
        N_("divides by the number of entries, not by one less, in norms and wherever nothing else is said."),
    ),
    (
        N_("Dtypes"),
        N_(
            "A function returns the dtype that it was given. Norms and sums of exponentials may compute in float32 in"
            " between."
        ),
    ),
    (
        N_("Bytes and operations"),
        N_("A multiply-add counts as 2 FLOPs. GB is $10^9$ bytes, GiB is $2^{30}$."),
    ),
)


def pages() -> dict[str, str]:
    """The page ``notation``."""
    parts = [
        f"# {_('Notation')}",
        _("The letters of the course, and what holds everywhere: where positions begin, what True means in a mask."),
        _("A few letters have a second meaning ($V$, $\\beta$); the unit says which."),
        f"## {_('Sizes')}",
        f"{_('| symbol | meaning | example | used in |')}\n|---|---|---|---|\n{_rows(SIZES)}",
        f"## {_('Tensors and numbers')}",
        f"{_('| symbol | meaning | shape or value | used in |')}\n|---|---|---|---|\n{_rows(TENSORS)}",
        f"## {_('What holds everywhere')}",
        *(f"{_(what)}\n: {_(holds)}" for what, holds in CONVENTIONS),
    ]
    return {HERE: "\n\n".join(parts) + "\n"}


def _rows(letters: tuple[Letter, ...]) -> str:
    return "\n".join(
        f"| ${letter.tex}$ | {_(letter.means)} | {_(letter.example)} "
        f"| [{letter.unit}]({links.unit(HERE, facts.by_number(letter.unit), letter.cell())}) |"
        for letter in letters
    )
