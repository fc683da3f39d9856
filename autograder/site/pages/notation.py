"""The symbols of the course, and its conventions: where positions begin, what a mask's True means."""

import re
from dataclasses import dataclass

from autograder.notebooks import facts
from autograder.site import links

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
    Letter("B", "batch: sequences side by side", "2", "00"),
    Letter("T", "length of a sequence; in attention the number of queries", "6", "00"),
    Letter("S", "number of keys, where it differs from $T$", "9", "00"),
    Letter("d_{model}", "width: features of a token", "512", "00"),
    Letter("H", "attention heads", "8", "00"),
    Letter("G", "key-value heads, $G \\le H$", "2", "00"),
    Letter("D", "head dim: features of one head, often $d_{model}/H$", "64", "00"),
    Letter("D_v", "features of a value, where they differ from $D$", "64", "01"),
    Letter("L", "layers", "12", "09"),
    Letter("N", "parameters", "124 million", "13"),
    Letter("V", "vocabulary: number of tokens", "50,257", "13"),
    Letter("w", "window: keys that a query sees, itself included", "4,096", "09"),
    Letter("r", "rank of an adapter", "8", "13"),
)
TENSORS = (
    Letter("x", "the stream, or the input of a layer", "$(B, T, d_{model})$", "01"),
    Letter("Q", "queries", "$(B, H, T, D)$", "01"),
    Letter("K", "keys", "$(B, G, S, D)$, with $G = H$ before unit 08", "01"),
    Letter("V", "values", "$(B, G, S, D_v)$", "01"),
    Letter("W_O", "output projection", "$(H D, d_{model})$", "01"),
    Letter("\\gamma", "gain of a norm", "$(d_{model})$", "02"),
    Letter("\\beta", "bias of a norm; in unit 04 the parameter of Swish", "$(d_{model})$", "02"),
    Letter("\\varepsilon", "what keeps a norm from dividing by 0: under the root", "$10^{-5}$", "02"),
    Letter("\\theta", "angle of one step of a rotary pair", "$(D/2)$", "06"),
    Letter("R(\\varphi)", "rotation by the angle $\\varphi$", "$(2, 2)$", "06"),
    Letter("\\eta", "learning rate", "0.001", "10"),
    Letter("\\lambda", "weight decay", "0.1", "10"),
)
CONVENTIONS = """## What holds everywhere

Positions
: count from 0. With a cache of $S - T$ tokens the new ones stand at $S - T, \\dots, S - 1$.

Masks
: are boolean, $(T, S)$ or anything that broadcasts to $(B, H, T, S)$; rows are queries, columns are keys. **True means
  "may look".** A row with nothing to look at gives zeros, forward and backward.

Axes
: stand in the order $(B, H, T, D)$. Linear maps are `nn.Linear`, so a weight has shape (out, in).

Rotary pairs
: are neighbors, $(x_0, x_1), (x_2, x_3), \\dots$, where a function is called `apply_rope`, and halves,
  $(x_i, x_{i + D/2})$, as in LLaMA's code, where it is called `apply_rope_half`.

Epsilon
: stands under the root, added to the variance or the mean square. It is 1e-5 in LayerNorm and 1e-6 in RMSNorm,
  unless an exercise says otherwise.

Variance
: divides by the number of entries, not by one less, in norms and wherever nothing else is said.

Dtypes
: A function returns the dtype that it was given. Norms and sums of exponentials may compute in float32 in between.

Bytes and operations
: A multiply-add counts as 2 FLOPs. GB is $10^9$ bytes, GiB is $2^{30}$.
"""


def pages() -> dict[str, str]:
    """The page ``notation``."""
    text = f"""# Notation

The letters of the course. A few have a second meaning ($V$, $\\beta$); the unit says which.

## Sizes

| symbol | meaning | example | used in |
|---|---|---|---|
{_rows(SIZES)}

## Tensors and numbers

| symbol | meaning | shape or value | used in |
|---|---|---|---|
{_rows(TENSORS)}

{CONVENTIONS}"""
    return {HERE: text}


def _rows(letters: tuple[Letter, ...]) -> str:
    return "\n".join(
        f"| ${letter.tex}$ | {letter.means} | {letter.example} "
        f"| [{letter.unit}]({links.unit(HERE, facts.by_number(letter.unit), letter.cell())}) |"
        for letter in letters
    )
