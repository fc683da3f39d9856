# %% [markdown]
# # Rotary positions
#
# **You will be able to**
#
# - explain why scores under RoPE depend only on distances;
# - write RoPE as LLaMA's code does, and tell wrong versions from right ones;
# - say what happens beyond the trained length, and why;
# - in the extensions: the whole proof, the complex form, YaRN, a training run.
#
# **Prerequisites:** units 01 and 05; sine, cosine, 2×2 matrices. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Imagine two clocks with one hand each. Both hands point to 12, and with every token that passes, a hand moves on by 30°.
#
# The *query* clock has counted 3 tokens and the *key* clock 1 token. The angle between the hands is therefore 60°, and the product of the two unit vectors is $\cos 60° = 0.5$.
#
# What is it after 1,003 and 1,001 tokens? And at which other distances is it 0.5 as well?

# %% setup=true
import math

import matplotlib.pyplot as plt
import sympy as sp
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import length, recorded, show_large, where
from anatomy.plots import described, use_style
from anatomy.widgets import RopeExplorer

theta, q0, q1, k0, k1 = sp.symbols("theta q0 q1 k0 k1", real=True)
x1, x2, a = sp.symbols("x1 x2 a", real=True)

# %%
use_style()

# %%
predict("rope.p1", "The product of the two hands after 1,003 and 1,001 tokens is…",
        ["0.5 again", "some other number", "0, since both have turned so often"])

# %%
reveal("rope.p1",
       lambda: f"{math.cos(math.radians(30 * 1003 - 30 * 1001)):.3f}",
       "Both hands have made 1,000 more steps, so the distance is still 2, and only the distance counts. "
       "However, 10, 14, 22, … give 0.5 as well.",
       answer="0.5 again")

# %% [markdown]
# Turning makes a product depend on the *distance* alone, so that *three tokens back* means the same at the start of a text and at its end. However, one clock is not enough: to it, 2 and 14 tokens apart look the same.
#
# RoPE (*Rotary Position Embedding*, [Su et al. 2021](https://arxiv.org/abs/2104.09864)) therefore gives every head many clocks, from fast to very slow.

# %% [markdown]
# ## 1. Turning one pair
#
# RoPE is built from a single operation, which this section writes down: turning a point in the plane.
#
# Turn the point $(1, 0)$ by 30°, counter-clockwise. It lands at $(0.866, 0.5)$, while the point $(0, 1)$ lands at $(-0.5, 0.866)$. These two results are the columns of the matrix that turns every point. For any angle $\varphi$ it is
#
# $$R(\varphi) = \begin{pmatrix}\cos\varphi & -\sin\varphi\\ \sin\varphi & \cos\varphi\end{pmatrix}$$

# %% [markdown]
# For example, turn $(2, 1)$ by 30°. Each row of the matrix gives one entry of the result.

# %%
phi = torch.tensor(math.pi / 6)
2 * phi.cos() - 1 * phi.sin(), 2 * phi.sin() + 1 * phi.cos()

# %% [markdown] statement="rope.rotation_matrix_2d"
# Build $R(\varphi)$ for a whole tensor of angles (radians) at once. Angles of shape `(...)` give matrices of shape `(..., 2, 2)` with the same dtype; the first row is already there.

# %% exercise="rope.rotation_matrix_2d"
def rotation_matrix_2d(angle):
    """Counter-clockwise rotation matrices.

    Args:
        angle: (...) float tensor, radians.

    Returns:
        (..., 2, 2) tensor, same dtype: [[cos, -sin], [sin, cos]]; gradients flow to angle.
    """
    cos, sin = torch.cos(angle), torch.sin(angle)
    first = torch.stack([cos, -sin], dim=-1)
    ### BEGIN SOLUTION
    second = torch.stack([sin, cos], dim=-1)
    return torch.stack([first, second], dim=-2)
    ### END SOLUTION

# %% [markdown] hints="rope.rotation_matrix_2d"
# 1. Which sign does the sine have in the second row? Look at where $(1, 0)$ lands.
# 2. Make `second` in the same way as `first`. The two rows then become a matrix by stacking them along the axis before the last.
# 3. `second = torch.stack([…, …], dim=-1)`, then `return torch.stack([first, second], dim=-2)`.

# %% [markdown] worth="rope.rotation_matrix_2d"
# The angle comes first, then one cosine and one sine. Reaching position 1,000 by multiplying 1,000 one-step matrices instead would collect a rounding error at every step.

# %%
rotation_matrix_2d(phi) @ torch.tensor([2.0, 1.0])

# %% [markdown]
# The next cell draws the clock of the puzzle, which steps by 30°, as the product of its hands against their distance.

# %%
steps = torch.arange(37) * math.radians(30)
hands = rotation_matrix_2d(steps) @ torch.tensor([1.0, 0.0])
with described("One clock: the product falls from 1 at distance 0 to -1 at 6, "
               "and is back at 1 at 12, 24 and 36."):
    plt.plot(hands @ hands[0], "o-")
    plt.axhline(0.5, color="black", linewidth=0.6)
    plt.gca().set(xlabel="distance in words", ylabel="product of the hands")

# %% [markdown]
# The curve falls as the hands move apart, but after 12 tokens the hand is back, and so is the curve. Section 3 adds slower clocks, which tell 2 from 14.

# %% [markdown]
# ### Extension: the same turn with one multiplication
#
# Real code often turns a pair without a matrix, by one complex product. The pair $(a, b)$ is then read as $a + bi$, and multiplying by $i$ is a quarter turn, for example $(2 + i)\cdot i = -1 + 2i$.
#
# In the same way, multiplying by $e^{i\varphi} = \cos\varphi + i\sin\varphi$ is a turn by $\varphi$. Python can try both.

# %%
(2 + 1j) * 1j, (2 + 1j) * complex(math.cos(math.pi / 6), math.sin(math.pi / 6))

# %% [markdown] statement="rope.rotate_complex"
# Turn pairs by complex multiplication, where `x` ends in an axis of size 2 (real part, imaginary part), and `angle` broadcasts against the axes before it. The result has the shape and dtype of `x`.
#
# Raise `ValueError` when the last axis is not a pair. These functions are useful: `torch.view_as_complex`, `torch.polar(length, angle)`, `torch.view_as_real`.

# %% exercise="rope.rotate_complex"
def rotate_complex(x, angle):
    """Rotates pairs by complex multiplication.

    Args:
        x: (..., 2) float32 or float64 tensor.
        angle: tensor of radians that broadcasts to (...), same dtype.

    Returns:
        (..., 2) tensor, same dtype; gradients flow to x and to angle.

    Raises:
        ValueError: the last axis of x is not 2.
    """
    ### BEGIN SOLUTION
    if x.shape[-1] != 2:
        raise ValueError(f"x must end in a pair, got {tuple(x.shape)}")
    turned = torch.view_as_complex(x.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned)
    ### END SOLUTION

# %% [markdown] hints="rope.rotate_complex"
# 1. What length must a complex number have so that multiplying by it changes no length?
# 2. Check the last axis, view `x` as complex, multiply by `torch.polar(ones, angle)`, view the product as real.
# 3. `z = torch.view_as_complex(x.contiguous())`, `return torch.view_as_real(z * torch.polar(torch.ones_like(angle), …))`.

# %% [markdown] worth="rope.rotate_complex"
# `view_as_complex` copies nothing: it reads the same memory as pairs. So the last axis must have size 2 and stride 1, and a transposed tensor needs `.contiguous()` first.

# %% [markdown]
# ## 2. Only the distance counts
#
# RoPE works because of one fact: if the query is turned by $m\theta$ and the key by $n\theta$, their product depends on $m$ and $n$ only through their distance. Neither turn knows anything about the other, so this needs a proof.
#
# In the whole proof $m$ is the query's position, $n$ the key's, and the distance is $d = n - m$, which is negative for a key before the query. Of the five steps only the first is on the core path; the others are extensions.

# %% [markdown]
# SymPy calculates with letters, so it can check your formula for all $m$ and $n$ at once. As a first example, it multiplies $R(a)$ by its transpose, which turns back what was turned.

# %%
R = lambda angle: sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]])
m, n, d = sp.symbols("m n d", real=True)
R(a).T * R(a)

# %% [markdown]
# These entries are $\cos^2 a + \sin^2 a$ and zeros, which makes the identity matrix, but SymPy leaves them as they are until it is told to simplify.

# %%
(R(a).T * R(a)).applyfunc(sp.simplify)

# %% [markdown]
# ### Step 1 of the proof: two turns become one
#
# **What we show:** the score of one turned pair contains the two positions only as their distance. This comes first because RoPE is made for it.
#
# The score is $(R(m\theta)\,q)^\top (R(n\theta)\,k) = q^\top\, R(m\theta)^\top R(n\theta)\; k$. Only the matrix between $q$ and $k$ depends on positions.

# %%
R(m * theta).T * R(n * theta)

# %% [markdown] statement="rope.relative_rotation"
# Each entry can be shortened by an addition formula, for example $\cos m\theta\cos n\theta + \sin m\theta\sin n\theta = \cos((n-m)\theta)$.
#
# Write $R(m\theta)^\top R(n\theta)$ as a SymPy matrix in which $m$ and $n$ no longer occur, as a function of the distance $d = n - m$ alone. The argument `d` is a number; use the symbol `theta`.

# %% exercise="rope.relative_rotation"
def relative_rotation(d):
    """R(m·theta)ᵀ R(n·theta) as a function of the distance.

    Args:
        d: n - m, a number.

    Returns:
        2×2 sympy.Matrix in the symbol theta.
    """
    ### BEGIN SOLUTION
    c, s = sp.cos(d * theta), sp.sin(d * theta)
    return sp.Matrix([[c, -s], [s, c]])
    ### END SOLUTION

# %% [markdown] hints="rope.relative_rotation"
# 1. Transposing a turn turns back. First back by $m$, then on by $n$: how far in all?
# 2. The result is again a rotation matrix. Its angle is $d\,\theta$ with $d = n - m$.
# 3. `sp.Matrix([[sp.cos(d*theta), …], [sp.sin(d*theta), …]])`.

# %% [markdown] worth="rope.relative_rotation"
# Older relative schemes store a learned vector for each distance up to a limit ([Shaw et al. 2018](https://arxiv.org/abs/1803.02155)). RoPE needs no table and no parameters, because the distance comes out of the product itself.

# %% [markdown]
# Is your formula true for all $m$ and $n$, and not only for the numbers of the check? SymPy simplifies the difference of the two sides, which should be zero.

# %%
(R(m * theta).T * R(n * theta) - relative_rotation(n - m)).applyfunc(sp.simplify)

# %% [markdown]
# **What we have:** the score is $q^\top R((n-m)\theta)\,k$, which stays the same if both tokens move on by the same number of positions.
#
# The order of $n$ and $m$ matters. With $R((m-n)\theta)$, as some notes print it, a key three tokens *before* the query would be scored like one three tokens *after* it. In complex form, however, the paper has $q\,\bar k\,e^{i(m-n)\theta}$, and that is right, since the conjugate $\bar k$ turns the other way.

# %% [markdown]
# ### Extension: step 2, the score written out
#
# **What we show:** the score of one pair as a formula in its four numbers. This is the next question because step 1 says that only the distance counts, but not how.
#
# With $q = (q_0, q_1)$ and $k = (k_0, k_1)$ the score $q^\top R\,k$ has four products, shown here for a turn of $30°$ as a pattern.

# %%
sp.expand((sp.Matrix([[q0, q1]]) * R(sp.pi / 6) * sp.Matrix([k0, k1]))[0])

# %% [markdown] statement="rope.expanded_score"
# Write the score $(R(m\theta)q)^\top(R(n\theta)k)$ in terms of $q_0, q_1, k_0, k_1$ and $\theta$, so that the positions occur only as their difference.
#
# The argument `d` of this function is $m - n$, as in the paper's complex form above. It is therefore minus the distance $n - m$ of the proof.

# %% exercise="rope.expanded_score"
def expanded_score(d):
    """The score of one turned pair, written out.

    Args:
        d: m - n, a number.

    Returns:
        SymPy expression in q0, q1, k0, k1 and theta.
    """
    ### BEGIN SOLUTION
    same, crossed = q0 * k0 + q1 * k1, q0 * k1 - q1 * k0
    return same * sp.cos(d * theta) + crossed * sp.sin(d * theta)
    ### END SOLUTION

# %% [markdown] hints="rope.expanded_score"
# 1. Multiply the row $(q_0, q_1)$ with $R((n-m)\theta)$ and with the column $(k_0, k_1)$. You get two products with a cosine and two with a sine.
# 2. Collect them as (something)·$\cos$ + (something)·$\sin$. Then replace $n - m$ by $-d$: the cosine stays as it is, and the sine changes its sign.
# 3. `(q0*k0 + q1*k1) * sp.cos(d*theta) + (q0*k1 - …) * sp.sin(d*theta)`.

# %% [markdown] worth="rope.expanded_score"
# The two coefficients are the dot product and the cross product of the pair. Together they make $|q|\,|k|\cos(\alpha + (n-m)\theta)$, with $\alpha$ the angle from $q$ to $k$. So content sets the size and the phase of a wave, and distance only moves along it.

# %%
score = sp.Matrix([[q0, q1]]) * R(m * theta).T * R(n * theta) * sp.Matrix([k0, k1])
sp.simplify(score[0] - expanded_score(m - n))

# %% [markdown]
# **What we have:** the score of one pair is a wave over the distance, whose size and starting point come from the contents of $q$ and $k$. A head can learn to prefer a certain distance, for example three tokens back, although a single pair then prefers all distances a full turn away as well.

# %% [markdown]
# #### Claim on trial: only a cosine
#
# > *"$\langle f(x_m, m), f(x_n, n)\rangle = x_m x_n \cos((m-n)\theta)$"* (from a page of notes)
#
# If this were the whole formula, a score could not tell "three before" from "three after", because the cosine is even. Take $q = (1, 0)$, $k = (0, 1)$ and $\theta = 0.5$, and measure both.

# %%
q, k = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
turned = lambda v, position: rotation_matrix_2d(torch.tensor(0.5 * position)) @ v
[round((turned(q, 10) @ turned(k, position)).item(), 3) for position in (7, 13)]

# %% [markdown] evidence="exact"
# **Verdict: half of the formula is missing, and it is the half that tells before from after.** The conclusion drawn there, that only the distance counts, is right. However, pairs of numbers have a second term, $(q_0 k_1 - q_1 k_0)\sin((m-n)\theta)$, which changes its sign with the direction. It vanishes only when $q$ and $k$ lie on one line.

# %% [markdown]
# ### Extension: step 3, lengths
#
# **What we show:** a turn keeps the length of every vector. Step 1 implies it, since a squared length is the product of a vector with itself, at distance 0. It is the next step because it exposes recipes that only look like turns. One of them, found in notes, maps $(x_1, x_2)$ to $(x_1\cos a - x_1\sin a,\; x_2\cos a + x_2\sin a)$.

# %% [markdown] statement="rope.squared_lengths"
# Give the squared length of the result as a SymPy expression in the angle `a`, for any `x1` and `x2` (numbers or letters). Do this once for the true turn $(x_1\cos a - x_2\sin a,\ x_1\sin a + x_2\cos a)$ and once for the recipe from the notes.

# %% exercise="rope.squared_lengths"
def rotated_length(x1, x2):
    """Squared length of (x1, x2) after a turn by a: a SymPy expression in the symbol a."""
    ### BEGIN SOLUTION
    return x1**2 + x2**2
    ### END SOLUTION


def notes_length(x1, x2):
    """Squared length of (x1·cos a − x1·sin a, x2·cos a + x2·sin a): a SymPy expression in the symbol a."""
    ### BEGIN SOLUTION
    return x1**2 * (1 - sp.sin(2 * a)) + x2**2 * (1 + sp.sin(2 * a))
    ### END SOLUTION

# %% [markdown] hints="rope.squared_lengths"
# 1. Square both entries, add them, and use $\sin^2 + \cos^2 = 1$. In one of the two cases everything with an angle cancels.
# 2. For the notes: $x_1^2(\cos a - \sin a)^2 + x_2^2(\cos a + \sin a)^2$, and $(\cos a - \sin a)^2 = 1 - 2\sin a\cos a$.
# 3. `return x1**2 + x2**2`, and `return x1**2 * (1 - …) + x2**2 * (1 + …)` with $2\sin a\cos a = \sin 2a$.

# %% [markdown] worth="rope.squared_lengths"
# The recipe from the notes is a diagonal matrix with entries $\cos a - \sin a$ and $\cos a + \sin a$. At 45° the first entry is 0: $x_1$ is erased, and nothing can bring it back.

# %% [markdown]
# With letters instead of numbers, your two formulas show what happens to every vector.

# %%
rotated_length(x1, x2), notes_length(x1, x2)

# %%
angles = torch.linspace(0, 2 * math.pi, 100)
formulas = [sp.lambdify(a, f(1, sp.Rational(1, 2))) for f in (rotated_length, notes_length)]
with described("Squared length of (1, 0.5): the turn stays at 1.25, the recipe of the notes "
               "swings from 0.5 to 2."):
    for formula, name in zip(formulas, ("turn", "recipe from the notes")):
        plt.plot(angles, [float(formula(v.item())) for v in angles], label=name)
    plt.legend(), plt.gca().set(xlabel="angle", ylabel="squared length", ylim=(0, 2.2))

# %% [markdown]
# **What we have:** a turn keeps every length, whereas the recipe makes vectors longer at some positions than at others. Its scores cannot depend on distances alone. Step 4 asks which schemes are left.

# %% [markdown]
# ### Extension: step 4, why pairs?
#
# **What we show:** among linear maps, only turns in planes can do the job, apart from directions that stay or flip. Until now RoPE might be one way of many, for example with triples or single numbers instead of pairs.
#
# So turn the question round, and look for any way $f$ to mark a vector with its position so that
#
# $$f(q, m)^\top f(k, n) = g(q, k, n - m).$$

# %% [markdown]
# We assume that $f$ is linear, and that **queries and keys share it**, so that $f(x, m) = A_m x$ with one matrix for each position. Then $A_m^\top A_n$ must be the same for all $m, n$ with the same distance. Which families $A_0, A_1, A_2, \dots$ can do that?

# %% [markdown] statement="rope.relative_gap"
# First build the instrument that tells: how far is a family from depending on $n - m$ alone? Moving both positions on by one must change nothing, so measure
#
# $$\max_{m, n}\;\bigl|A_{m+1}^\top A_{n+1} - A_m^\top A_n\bigr|$$
#
# over all entries and all positions for which the next position exists. Return a Python float.

# %% exercise="rope.relative_gap"
def relative_gap(A):
    """How far A[m]ᵀA[n] is from being a function of n − m.

    Args:
        A: (N, D, D) float64 tensor, one matrix per position, N at least 2.

    Returns:
        float, the largest |A[m+1]ᵀA[n+1] − A[m]ᵀA[n]| over m, n in 0 … N−2 and all entries.
    """
    ### BEGIN SOLUTION
    S = torch.einsum("mji,njk->mnik", A, A)
    return (S[1:, 1:] - S[:-1, :-1]).abs().max().item()
    ### END SOLUTION

# %% [markdown] hints="rope.relative_gap"
# 1. For one pair of positions it is `(A[m+1].T @ A[n+1] - A[m].T @ A[n]).abs().max()`. Which pairs are there?
# 2. Two loops over `range(len(A) - 1)` and a running maximum will do. Without loops, compute all products at once, and then shift the table by one in both directions.
# 3. `S = torch.einsum("mji,njk->mnik", A, A)`, then compare `S[1:, 1:]` with `S[:-1, :-1]`.

# %% [markdown] worth="rope.relative_gap"
# Testing one step is enough, since a shift by 1,000 positions is 1,000 shifts by one. In floating point, however, small gaps can add up: compare with a tolerance and not with 0.

# %%
place = torch.arange(6, dtype=torch.float64)
powers = lambda M: torch.stack([torch.linalg.matrix_power(torch.tensor(M).double(), p) for p in range(6)])
spin = rotation_matrix_2d(0.7 * place)
stays = torch.stack([torch.block_diag(r, torch.ones(1, 1)) for r in spin])  # 3-D, about one axis
tilts = stays.roll((1, 1), (1, 2))  # the same about another axis
shadow = spin @ torch.diag(torch.tensor([1.0, 0.0]).double())  # of a turn: one direction is dropped before
families = {"±1": powers([[-1.0]]), "growth 1.1ᵐ": powers([[1.1]]), "2-D turn": spin, "2-D shadow": shadow,
            "2-D shear": powers([[1.0, 0.3], [0.0, 1.0]]),
            "3-D, one axis": stays, "3-D, two axes": stays @ tilts}
{name: round(relative_gap(A), 3) for name, A in families.items()}

# %% [markdown]
# A gap of 0 means that a family passes. Single numbers pass only as ±1. Turns in a plane pass, even if a direction is dropped before (the *shadow*). In three dimensions a turn about *one* axis passes, but that is a plane and a number that never changes. Turns about two axes fail although they keep every length, because the two do not commute.

# %% [markdown]
# #### Does the shared map matter?
#
# The shear failed when queries and keys shared it. Now give the keys its powers $S^n$, and the queries the powers of the inverse, transposed, $S^{-m\top}$. The product is then $S^{-m} S^n = S^{n-m}$.

# %%
keys, queries = powers([[1.0, 0.3], [0.0, 1.0]]), powers([[1.0, 0.0], [-0.3, 1.0]])
products = torch.einsum("mji,njk->mnik", queries, keys)
one_map, two_maps = relative_gap(keys), (products[1:, 1:] - products[:-1, :-1]).abs().max().item()
round(one_map, 3), round(two_maps, 3)

# %% [markdown]
# With two maps, powers of **any** invertible matrix work, for example shears and growth. xPos ([Sun et al. 2022](https://arxiv.org/abs/2212.10554)) uses that: in addition to the turn it multiplies queries by $\zeta^m$ and keys by $\zeta^{-n}$, with one $\zeta$ per pair, and scores fade with distance. From here on, queries and keys share one map, as in RoPE.

# %% [markdown]
# **First, the same matrix leads from each position to the next,** which brings a whole family down to a single matrix. Send every vector $A_m x$ to $A_{m+1} x$, and sums to sums, and call this map $U$. It keeps products, $(A_{m+1} x)^\top (A_{n+1} y) = (A_m x)^\top (A_n y)$, because only the distance counts. Nor does it contradict itself: lengths are products, so a sum that is 0 goes to a vector of length 0.

# %% [markdown]
# So $U$ keeps all lengths and angles among these vectors. It leads from their space into the same space, and it fills that space, since a map that keeps lengths loses no dimension. If we let $U$ do nothing to what is perpendicular to that space, it is an orthogonal matrix.

# %% [markdown]
# By its definition $A_{m+1} = U A_m$, and so $A_m = U^m A_0$ with **one orthogonal matrix** $U$. The first matrix may go into the weights, $A_0 W_Q$ and $A_0 W_K$ instead of $W_Q$ and $W_K$, and no score changes. It need not be invertible: the shadow in the table, for example, has an $A_0$ that drops a direction, and the same $U$ as the turn.

# %% [markdown]
# Only the powers of $U$ are left, which is called $A$ from here on. In one dimension it is a number with $a^2 = 1$, which leaves two choices.

# %%
sp.solve(a**2 - 1, a)

# %% [markdown]
# **Next, we look for the smallest pieces that $A$ maps to themselves,** because on them its effect is easy to see. Let $Av = \lambda v$, with $|\lambda| = 1$ since $A$ keeps lengths. A real $\lambda$ is ±1, and $v$ is a direction that stays or flips.

# %% [markdown]
# Otherwise $\lambda = e^{i\varphi}$ and $v = x + iy$, and comparing real and imaginary parts gives
#
# $$Ax = \cos\varphi\, x - \sin\varphi\, y,\qquad Ay = \sin\varphi\, x + \cos\varphi\, y$$
#
# This means that $A$ maps the plane of $x$ and $y$ to itself. Moreover, $v^\top v = (Av)^\top(Av) = \lambda^2\, v^\top v$ with $\lambda^2 \ne 1$, hence $v^\top v = 0$: $x$ and $y$ are perpendicular and equally long. In that plane $A$ turns by $\varphi$.

# %% [markdown]
# **Last, the search goes on in what is perpendicular to the piece just found.** Let $V$ be that plane or direction, and $w$ perpendicular to it. $A$ maps $V$ onto itself, so every $v$ in $V$ is $Av'$ with $v'$ in $V$, and $(Aw)^\top v = (Aw)^\top (Av') = w^\top v' = 0$. What is perpendicular to $V$ stays so, and we can go on there, with fewer dimensions, until none is left. The next cell shows a random orthogonal matrix in 6 dimensions, in the basis of its planes.

# %%
A, _ = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3)))
A = A * torch.linalg.det(A)**torch.tensor([1.0, 0, 0, 0, 0, 0])  # determinant 1: no mirror
values, vectors = torch.linalg.eig(A)
planes = vectors[:, values.imag > 0]
basis = math.sqrt(2) * torch.stack([planes.real, -planes.imag], -1).flatten(1)  # two columns per plane
(basis.T @ A @ basis).round(decimals=2) + 0.0

# %% [markdown] evidence="argued + exact"
# **If queries and keys share one linear map, that map is made of planes that turn and of directions that stay or flip,** up to a change of basis that the weights can learn. The matrix above has three planes, and the argument covers every other.
#
# **What we have:** pairs are not a choice among many. RoPE's own choice is how fast they turn. (For pairs, [section 3.4.1](https://arxiv.org/abs/2104.09864) of the paper starts from the polar form of $f$ instead of linearity.)

# %% [markdown]
# ## 3. Many clocks
#
# One pair comes round and cannot tell 2 tokens from 14. Several pairs of different speeds can, but which speeds?
#
# Suppose a head has size $D = 4$, which makes two pairs. With base 10,000 the first turns by 1 radian per token, the second by 0.01. After 6 tokens the first has almost come round, while the second has moved by 0.06. The fast one tells neighbors apart and the slow one far from near, like the second hand and the hour hand of a clock. In general, pair $i$ turns per position by
#
# $$\theta_i = \text{base}^{-2i/D},\qquad i = 0, \dots, D/2 - 1$$

# %% [markdown]
# For example, take $D = 8$ and base 16. The exponents are $0, \tfrac14, \tfrac12, \tfrac34$, so each pair turns half as fast as the one before.

# %%
[16 ** (-2 * i / 8) for i in range(4)]

# %% [markdown] statement="rope.rope_frequencies"
# Write $\theta_i$ for any even $D$ and any base, and the wavelengths $2\pi/\theta_i$, which say how many positions a pair needs for one full turn. Both are float32 tensors of shape `(D/2,)`.
#
# Raise `ValueError` when $D$ is odd.

# %% exercise="rope.rope_frequencies"
def rope_frequencies(D, base=10000.0):
    """theta_i = base^(-2i/D), arXiv:2104.09864.

    Args:
        D: even size of a head.
        base: float.

    Returns:
        (D/2,) float32, radians per position, decreasing from 1.

    Raises:
        ValueError: D is odd.
    """
    ### BEGIN SOLUTION
    if D % 2:
        raise ValueError(f"RoPE turns pairs, so D must be even, got {D}")
    return float(base) ** (-torch.arange(0, D, 2, dtype=torch.float32) / D)
    ### END SOLUTION


def wavelengths(D, base=10000.0):
    """(D/2,) float32: positions per full turn of each pair."""
    ### BEGIN SOLUTION
    return 2 * math.pi / rope_frequencies(D, base)
    ### END SOLUTION

# %% [markdown] hints="rope.rope_frequencies"
# 1. `torch.arange(0, D, 2)` is $2i$ for all pairs at once.
# 2. Check `D % 2` first. Then divide $2i$ by $D$, negate, and raise the base to it. A full turn has $2\pi$ radians.
# 3. `return float(base) ** (-torch.arange(0, D, 2, dtype=torch.float32) / …)`, and `return 2 * math.pi / rope_frequencies(…)`.

# %% [markdown] worth="rope.rope_frequencies"
# The exponents and the base 10,000 were taken over from the sinusoids of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762). For $D = 128$ each pair turns 1.155 times slower than the pair before it.

# %%
[f"{n:,.0f}" for n in wavelengths(128)[[0, 16, 32, 48, 63]].tolist()]

# %% [markdown]
# In a LLaMA head ($D = 128$) the fastest pair comes round every 6 tokens, the slowest every 54,410. Below is one hand per pair, turned by **your** function; gray is what a training on 4,096 tokens has shown. Which pairs come round in it?

# %%
RopeExplorer.of_frequencies(rope_frequencies)

# %% [markdown]
# ### Positions as numerals
#
# Think of the odometer of a car. Its last digit moves with every step, and each digit before it moves ten times slower. RoPE writes a position in the same way, but its digits glide, and the factor from one to the next is $\text{base}^{2/D}$ instead of 10.
#
# With a larger base each digit is worth more, and the same digits can write larger positions before they come round.

# %% [markdown]
# ### What many speeds do to a score
#
# Some notes print RoPE with **the same** $m\theta$ in every pair. Scores would still depend on the distance alone, but what would be lost?
#
# Compare a vector of length 1, spread evenly over all pairs, with itself at distance $d$. Pair $i$ contributes $\cos d\theta_i$, and the score is the mean of these cosines.

# %%
far = torch.arange(200)
many = (far[:, None] * rope_frequencies(64)).cos().mean(1)  # the mean over 32 pairs
single = far.cos()  # the same angle in every pair
with described("One angle: the score comes back to almost 1 every 6.3 positions. Many angles: it falls "
               "and never returns to 1."):
    plt.plot(far, single, linewidth=0.8, label="one angle")
    plt.plot(far, many, label="64 features, base 10,000")
    plt.legend(loc="upper right", ncols=2)
    plt.gca().set(xlabel="distance", ylabel="score", ylim=(-1.1, 1.4))

# %% [markdown]
# With one speed, distances 0, 6.3, 12.6, … look alike, whatever the number of features. The speeds have to differ, and that is what the index of $\theta_i$ is for.
#
# With many speeds, the score falls from its maximum at distance 0, because the pairs get out of step and cancel each other. The paper calls this **long-term decay** ([section 3.4.3](https://arxiv.org/abs/2104.09864)) and shows it for a bound on the score. It is only a tendency: $q$ and $k$ set the phase of each pair, so a trained head can still prefer a token far away.

# %% [markdown]
# ### Extension: step 5, all planes at once
#
# **What we show:** what holds for one pair holds for a whole head. It is the last step, because RoPE turns all pairs of a head at once. A vector of $D$ numbers is cut into pairs of neighbors, $(x_0, x_1), (x_2, x_3), \dots$, and pair $i$ turns by $m\,\theta_i$. As one matrix, this has 2×2 blocks along the diagonal and zeros elsewhere.

# %% [markdown] statement="rope.rope_matrix"
# Build this matrix for one position, with your `rope_frequencies` and `rotation_matrix_2d`. `torch.block_diag(*blocks)` sets blocks along a diagonal. The result is float32.

# %% exercise="rope.rope_matrix"
def rope_matrix(position, D, base=10000.0):
    """The (D, D) matrix that RoPE applies at one position, interleaved pairs.

    Args:
        position: int, may be negative.
        D: even size of a head.
        base: float.

    Returns:
        (D, D) float32 tensor.
    """
    ### BEGIN SOLUTION
    return torch.block_diag(*rotation_matrix_2d(position * rope_frequencies(D, base)))
    ### END SOLUTION

# %% [markdown] hints="rope.rope_matrix"
# 1. Which angle has block $i$? You have functions for all three parts.
# 2. The angles are the position times the frequencies, $(D/2,)$. `rotation_matrix_2d` of them gives the blocks, $(D/2, 2, 2)$. Then set the blocks along the diagonal.
# 3. `torch.block_diag(*rotation_matrix_2d(position * …))`.

# %% [markdown] worth="rope.rope_matrix"
# For $D = 128$ the matrix has 16,384 entries, and at most 256 of them are not zero. Multiplying by all of it does 64 times the work.

# %% [markdown]
# No new idea is needed: the score is the sum over pairs, each of which depends on the distance alone. With 16 features, the instrument of step 4 agrees.

# %%
relative_gap(torch.stack([rope_matrix(p, 16) for p in range(40)]))

# %% [markdown]
# **What we have:** the proof is complete. RoPE's scores depend on distances alone (steps 1 and 5), they tell before from after (step 2), lengths stay (step 3), and any linear scheme that does this with one map for queries and keys is made of such planes, and of directions that stay or flip (step 4).

# %% [markdown]
# ## 4. RoPE as a function
#
# This section makes the turn of one pair into the function that models apply to their queries and keys.
#
# A vector of $D$ numbers is cut into pairs of neighbors, $(x_0, x_1), (x_2, x_3), \dots$ Pair $i$ turns by $\alpha_i = m\,\theta_i$, which takes four products.
#
# $$x'_{2i} = x_{2i}\cos\alpha_i - x_{2i+1}\sin\alpha_i,\qquad x'_{2i+1} = x_{2i}\sin\alpha_i + x_{2i+1}\cos\alpha_i$$
#
# A score is a sum over pairs, each of which depends on the distance alone, so the score does too.

# %% [markdown]
# Queries and keys come as $(B, H, T, D)$, their positions as `position_ids`. Suppose the two texts of a batch are at different positions, because one was padded on the left and the other goes on from position 7. In their angles, `None` adds an axis: $(B, T)$ and $(D/2,)$ give $(B, T, D/2)$.

# %%
ids = torch.tensor([[0, 0, 1, 2], [7, 8, 9, 10]])  # (B, T)
angles = ids[..., None] * rope_frequencies(6)  # (B, T, D/2)
angles.shape, angles[1, 0]

# %% [markdown]
# The heads need one more axis: `angles.unsqueeze(1)` has shape $(B, 1, T, D/2)$, which fits $(B, H, T, D/2)$. Positions of shape $(T,)$ are the same for all texts and need no such axis.
#
# Half of the features, `x[..., 0::2]`, are the first members of the pairs, and `x[..., 1::2]` are the second.

# %% [markdown] statement="rope.apply_rope"
# Write RoPE, where pair $i$ consists of the neighbors $(2i, 2i+1)$, positions count from 0, and `position_ids` may have offsets and gaps.
#
# - Compute angles, cosines and sines in float32 (float64 for float64 inputs), whatever the input is.
# - Return the dtype of `x`; gradients must flow to `x`.
# - An odd $D$ raises `ValueError` (your `rope_frequencies` does that).

# %% exercise="rope.apply_rope"
def apply_rope(x, position_ids, base=10000.0):
    """RoPE with interleaved pairs, arXiv:2104.09864.

    Args:
        x: (B, H, T, D) queries or keys, D even.
        position_ids: (T,) or (B, T) integers.
        base: float.

    Returns:
        (B, H, T, D), same dtype as x.

    Raises:
        ValueError: D is odd.
    """
    ### BEGIN SOLUTION
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base).to(wide)
    if position_ids.dim() == 2:
        angles = angles.unsqueeze(1)  # (B, 1, T, D/2)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)
    ### END SOLUTION

# %% [markdown] hints="rope.apply_rope"
# 1. Start with the angles of the worked example. Then there are only cosines, sines and the four products.
# 2. `even, odd = x[..., 0::2], x[..., 1::2]`. Compute the two new halves, put partners side by side with `torch.stack(…, dim=-1)`, and `flatten(-2)`. At the end, cast.
# 3. `torch.stack([even * cos - odd * sin, even * sin + …], dim=-1).flatten(-2).to(x.dtype)`, with `cos` and `sin` of shape `(T, D/2)` or `(B, 1, T, D/2)`.

# %% [markdown] worth="rope.apply_rope"
# The angles depend only on the position and the pair. So models compute the tables of cosines and sines once per pass, and all layers and heads share them.

# %% [markdown]
# ### See it turn
#
# The picture has one dial per pair, drawn by your `apply_rope`. Press **Three tokens in front**, and all hands move while the score stays the same. Then press **more panels**: the heatmap in *Map* should be constant along its diagonals. Try a wrong sign in your function, or choose a fault in *Break it*.

# %%
RopeExplorer(apply_rope)

# %% [markdown]
# In *Proof*, another of these panels, press **Next equality**: with the first equality of section 2 you stand on the key, and the query is left with the distance.

# %% [markdown]
# ### Claim on trial: the dtype stays
#
# A page of notes applies RoPE to float16 queries, with tables that come out as float32, and returns the product as it is. Many models compute in float16 (16 bits per number) to save memory. What is the dtype of the product?

# %%
tables = torch.outer(torch.arange(4.0), rope_frequencies(8)).cos()
half = torch.randn(1, 1, 4, 4, dtype=torch.float16)
(half * tables).dtype, apply_rope(half, torch.arange(4)).dtype

# %% [markdown] evidence="exact"
# **Verdict: the dtype does not stay, because float16 × float32 is float32.** Memory doubles, and the product with float16 values raises an error. The tables *should* be float32, but the result must be cast back.
#
# Why not bfloat16 tables, the other format of 16 bits? The angle of pair 0 is the position itself, in radians, and the next cell shows what bfloat16 makes of it.

# %%
[(p, torch.tensor(p).bfloat16().item()) for p in (100, 301, 1027, 4099)]

# %% [markdown]
# Beyond 256 the format no longer has every whole number, and some neighbors get the same angle.

# %% [markdown]
# ### Extension: claim on trial, the absolute position
#
# > *"RoPE gives both: the direction of a vector encodes the absolute position, the angle between two encodes the relative one."*
#
# A vector is indeed turned by its absolute position. But can attention read that position from it? Move a whole text on by 1,000 tokens, and compare the outputs.

# %%
g = torch.Generator().manual_seed(0)
Q, K, V = torch.randn(3, 1, 2, 6, 16, dtype=torch.float64, generator=g)
look = lambda ids: (apply_rope(Q, ids) @ apply_rope(K, ids).mT / 4).softmax(-1) @ V
(look(torch.arange(6)) - look(torch.arange(6) + 1000)).abs().max()

# %% [markdown] evidence="exact"
# **Verdict: this is true of the turned vector, but not of what attention returns.** The turned vector differs at every position. However, it is used only in products, and the values $V$ are not turned, so the output is the same up to rounding. What a model learns about absolute positions comes from elsewhere, for example from the causal mask.

# %% [markdown]
# ## 5. The layout of LLaMA code
#
# Weights that you load may have been made for other pairs than yours. Much code pairs feature $i$ with feature $i + D/2$, the first half with the second half, because then one slice and one minus sign do the work for all pairs at once.
#
# $$x' = x\cdot\cos + \text{rotate\_half}(x)\cdot\sin$$
#
# Here `rotate_half` is a quarter turn of every pair, $(x_1, x_2) \mapsto (-x_2, x_1)$.

# %% [markdown]
# The formula works because a turn is a mix of "stay" and "quarter turn". For example, for $(2, 1)$ and 30° the sum $(2, 1)\cdot 0.866 + (-1, 2)\cdot 0.5$ gives what the matrix gave in section 1.

# %%
torch.tensor([2.0, 1.0]) * phi.cos() + torch.tensor([-1.0, 2.0]) * phi.sin()

# %% [markdown] statement="rope.rotate_half"
# Write the quarter turn for half-split vectors. With $x_1$ the first half of the last axis and $x_2$ the second, return $[-x_2, x_1]$. Raise `ValueError` when the last axis is odd.

# %% exercise="rope.rotate_half"
def rotate_half(x):
    """Quarter turn of every half-split pair.

    Args:
        x: (..., D) floating tensor, D even.

    Returns:
        (..., D) tensor, same dtype: [-x2, x1]; gradients flow to x.

    Raises:
        ValueError: D is odd.
    """
    ### BEGIN SOLUTION
    if x.shape[-1] % 2:
        raise ValueError(f"rotate_half needs an even last axis, got {tuple(x.shape)}")
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([-x2, x1], dim=-1)
    ### END SOLUTION

# %% [markdown] hints="rope.rotate_half"
# 1. What does a quarter turn do to $(1, 0)$, and to $(0, 1)$?
# 2. `x.chunk(2, dim=-1)` gives the halves. They are exchanged, and one gets a minus sign.
# 3. `torch.cat([-x2, x1], dim=-1)`, after the check.

# %% [markdown] worth="rope.rotate_half"
# Two quarter turns make a half turn: `rotate_half(rotate_half(x))` is `-x`, just as $i^2 = -1$. This holds exactly, since numbers only move and change sign.

# %% [markdown]
# ### Claim on trial: a missing exchange
#
# > `return torch.cat([-x_f, x_s], dim=-1)` with `x_f` the first half and `x_s` the second (from a page of notes, as `rotate_half`)
#
# Shapes and dtypes fit, and it runs without an error, but does it turn? The next cell measures what happens to the lengths of random vectors, and to scores when all positions shift by 50.

# %%
notes_half = lambda x: torch.cat([-x[..., :32], x[..., 32:]], dim=-1)
def rope_with(quarter, x, ids):
    angles = torch.cat([ids[:, None] * rope_frequencies(64)] * 2, dim=-1)
    return x * angles.cos() + quarter(x) * angles.sin()

X = torch.randn(100, 64, generator=torch.Generator().manual_seed(1))
for name, quarter in (("yours", rotate_half), ("notes", notes_half)):
    here, there = (rope_with(quarter, X, torch.arange(100) + shift) for shift in (0, 50))
    change = here.norm(dim=-1) / X.norm(dim=-1) - 1
    moved = (here @ here.T - there @ there.T).abs().max()
    print(f"{name}: length {change.min():+.1%} to {change.max():+.1%}, scores move by {moved:.3f}")

# %% [markdown] evidence="exact"
# **Verdict: this is no rotation, since lengths change with the position.** Scores change as well when the text is shifted. Yet a model trained with it looks fine (see the extension). So this course checks *properties*, not shapes and losses alone.

# %% [markdown]
# ### Extension: would training have warned you?
#
# A loss that falls nicely is often taken as a sign that the code is right. Two models that differ only in the quarter turn played the memory game of section 8, with {{length.seeds:word}} seeds each, trained on rows of {{length.trained}} cards, up to the black line.

# %%
pair = ["RoPE", "RoPE, wrong half"]
ends = {name: [f"{run['back'][-1]:.2f}" for run in recorded("length")["schemes"][name]] for name in pair}
with described("One line per seed. Up to position 64 every line of both is at 1; beyond, all fall. Color three "
               "positions back at position 256: {ends}.", ends=ends):
    length.draw({}, recorded("length"), pair)

# %% [markdown] evidence="recorded: length, control: trained length"
# **Training would not have warned you, because up to the trained length the wrong model answers as well as the right one.** At position {{length.trained}} it answers *back* (95 % right or more) in {{length.rope_wrong_half.back.trained.right}} of {{length.rope_wrong_half.of}} runs and *twin* in {{length.rope_wrong_half.twin.trained.right}}. After training on {{length.trained}} the difference is less than two standard errors, and after {{length.shorter.trained}} the wrong model is even ahead.
#
# | trained on | tested on | *back*: wrong model minus right one (± standard error) |
# |---|---|---|
# | {{length.trained}} | {{length.tested}} | {{length.wrong_half_minus_right.back.mean:+.2f}} ± {{length.wrong_half_minus_right.back.error:.2f}} |
# | {{length.shorter.trained}} | {{length.shorter.tested}} | {{length.shorter.wrong_half_minus_right.back.mean:+.2f}} ± {{length.shorter.wrong_half_minus_right.back.error:.2f}} |

# %% [markdown]
# ### RoPE from quarter turns
#
# With the right quarter turn, RoPE is the one formula at the beginning of this section.

# %% [markdown] statement="rope.apply_rope_half"
# Write RoPE in the half-split layout with your `rotate_half`. Pair $i$ consists of the features $(i, i + D/2)$ and turns by `position * theta_i`, so both halves need the same angles: `torch.cat([angles, angles], dim=-1)`.
#
# Everything else is as in `apply_rope`: positions, precision of the angles, dtype, gradients.

# %% exercise="rope.apply_rope_half"
def apply_rope_half(x, position_ids, base=10000.0):
    """RoPE in the half-split layout (GPT-NeoX, LLaMA in Hugging Face's code).

    Args and result as in apply_rope: x (B, H, T, D), position_ids (T,) or (B, T) → (B, H, T, D), same dtype.
    """
    ### BEGIN SOLUTION
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base).to(wide)
    if position_ids.dim() == 2:
        angles = angles.unsqueeze(1)
    angles = torch.cat([angles, angles], dim=-1)  # (…, T, D)
    return (x * angles.cos() + rotate_half(x) * angles.sin()).to(x.dtype)
    ### END SOLUTION

# %% [markdown] hints="rope.apply_rope_half"
# 1. Copy the lines of `apply_rope` up to the angles.
# 2. Repeat the angles for the second half, then stay plus quarter turn, then cast.
# 3. `angles = torch.cat([angles, angles], dim=-1)`, `return (x * angles.cos() + rotate_half(x) * …).to(x.dtype)`.

# %% [markdown] worth="rope.apply_rope_half"
# Both layouts are in use. The rotary kernel that comes with FlashAttention has a switch, `interleaved`: on, it pairs neighbors as GPT-J does, and off, the default, it pairs halves as GPT-NeoX does.

# %% [markdown]
# **Which layout do weights belong to?** Meta's LLaMA code pairs neighbors, whereas Hugging Face's pairs halves. The shapes are the same, so weights of the one run in code of the other, and answer badly. That is why the script that converts LLaMA's checkpoints reorders the rows of $W_Q$ and $W_K$ once, in the order that the extension finds.

# %% [markdown]
# ### Extension: claim on trial, other pairs
#
# > *"Pairs that are not neighbors can be turned as well, but that has no benefit; it even destroys the continuous design of the frequencies."* (from a page of notes)
#
# The two functions give different vectors for the same input. However, a model learns its features, so what counts is whether the vectors become equal after *renaming* features, and by which renaming.

# %% [markdown] statement="rope.interleaved_to_half_permutation"
# Find the permutation $p$ such that `x[..., p]` is the half-split form of an interleaved `x`: first members of all pairs first, then all second members.
#
# `p` has shape `(D,)`, int64; its entry $j$ says which interleaved feature comes to index $j$, and an odd $D$ raises `ValueError`.

# %% exercise="rope.interleaved_to_half_permutation"
def interleaved_to_half_permutation(D):
    """Indices that bring interleaved features into the half-split layout.

    Args:
        D: even size of a head.

    Returns:
        (D,) int64 tensor p: x[..., p] is half-split when x is interleaved.

    Raises:
        ValueError: D is odd.
    """
    ### BEGIN SOLUTION
    if D % 2:
        raise ValueError(f"D must be even, got {D}")
    return torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])
    ### END SOLUTION

# %% [markdown] hints="rope.interleaved_to_half_permutation"
# 1. For $D = 6$ the pairs are (0, 1), (2, 3), (4, 5). Which three features make up the first half?
# 2. All even indices, then all odd ones.
# 3. `torch.cat([torch.arange(0, D, 2), torch.arange(…, D, 2)])`.

# %% [markdown] worth="rope.interleaved_to_half_permutation"
# Card players know this as undoing a perfect riffle shuffle. For $D = 2^k$ it rotates the $k$ bits of an index, so every feature is home after $k$ rounds, for example 7 for $D = 128$.

# %%
p, ids = interleaved_to_half_permutation(16), torch.tensor([3, 4, 9, 40, 41, 1000])
same_vectors = apply_rope_half(Q[..., p], ids) - apply_rope(Q, ids)[..., p]
scores = lambda rope, Q, K: rope(Q, ids) @ rope(K, ids).mT
same_scores = scores(apply_rope_half, Q[..., p], K[..., p]) - scores(apply_rope, Q, K)
same_vectors.abs().max().item(), same_scores.abs().max().item()

# %% [markdown] evidence="exact"
# **Verdict: nothing is destroyed, because one fixed permutation turns one layout into the other.** After it the two agree to rounding, frequencies included, and it can be moved into the rows of $W_Q$ and $W_K$. There is even a benefit: one slice and one sign serve all pairs.

# %% [markdown]
# ## 6. Extension: one complex product
#
# Meta's LLaMA code uses a third form, for which you have the parts already: neighbors become complex numbers, and a table of $e^{i m\theta_j}$ multiplies them all at once.

# %% [markdown] statement="rope.apply_rope_complex"
# Write RoPE (interleaved) by complex multiplication, otherwise as in `apply_rope`. There is no good 16-bit complex type, so widen float16 and bfloat16 to float32 first, and cast back at the end.
#
# `x.unflatten(-1, (-1, 2))` cuts the last axis into pairs, $(B, H, T, D/2, 2)$.

# %% exercise="rope.apply_rope_complex"
def apply_rope_complex(x, position_ids, base=10000.0):
    """RoPE with interleaved pairs, by complex multiplication.

    Args and result as in apply_rope: x (B, H, T, D), position_ids (T,) or (B, T) → (B, H, T, D), same dtype.
    """
    ### BEGIN SOLUTION
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base).to(wide)
    if position_ids.dim() == 2:
        angles = angles.unsqueeze(1)
    pairs = x.to(wide).unflatten(-1, (-1, 2))
    return rotate_complex(pairs, angles).flatten(-2).to(x.dtype)
    ### END SOLUTION

# %% [markdown] hints="rope.apply_rope_complex"
# 1. Your `rotate_complex` takes `(..., 2)` and angles that broadcast. What is `(...)` here?
# 2. Angles as before, $(T, D/2)$ or $(B, 1, T, D/2)$. Widen, cut into pairs, rotate, flatten the pairs, cast.
# 3. `rotate_complex(x.to(wide).unflatten(-1, (-1, 2)), angles).flatten(-2).to(…)`.

# %% [markdown] worth="rope.apply_rope_complex"
# In `complex64` the table of $e^{im\theta_j}$ takes 8 bytes per position and pair. For 4,096 positions and $D = 128$ that is 2 MiB, once for all layers.

# %%
ids = torch.tensor([[5, 6, 9, 10, 50, 51]])
three = apply_rope(Q, ids), apply_rope_complex(Q, ids), apply_rope_half(Q[..., p], ids)[..., p.argsort()]
[(three[0] - other).abs().max().item() for other in three[1:]]

# %% [markdown]
# ## 7. Extension: partial RoPE, and none
#
# A turned feature always carries its position along, which gets in the way when a query looks for some content wherever it may be. Some models therefore leave features unturned: GPT-J turns 64 of 256 features, GPT-NeoX a quarter of each head.
#
# Suppose a head with $D = 4$ and `rotary_dim` 2 contains $(1, 0, 5, 6)$; at position 1 it becomes $(0.54, 0.84, 5, 6)$.

# %% [markdown] statement="rope.apply_partial_rope"
# Turn the first `rotary_dim` features (interleaved), and leave the others as they are. The frequencies are those of a head of size `rotary_dim`. Dtype and gradients are as in `apply_rope`.
#
# Raise `ValueError` unless `rotary_dim` is even and lies in $1 \dots D$.

# %% exercise="rope.apply_partial_rope"
def apply_partial_rope(x, position_ids, rotary_dim, base=10000.0):
    """RoPE on the first features of a head.

    Args:
        x: (B, H, T, D).
        position_ids: (T,) or (B, T).
        rotary_dim: even number of features to turn.
        base: float.

    Returns:
        (B, H, T, D), same dtype; features from rotary_dim on are unchanged. x itself is not changed.

    Raises:
        ValueError: rotary_dim is odd or outside 1 … D.
    """
    ### BEGIN SOLUTION
    if not 0 < rotary_dim <= x.shape[-1]:
        raise ValueError(f"rotary_dim must lie in 1 … {x.shape[-1]}, got {rotary_dim}")
    head, tail = x[..., :rotary_dim], x[..., rotary_dim:]
    return torch.cat([apply_rope(head, position_ids, base), tail], dim=-1)
    ### END SOLUTION

# %% [markdown] hints="rope.apply_partial_rope"
# 1. If you cut first, `apply_rope` finds the right frequencies by itself.
# 2. Check the range, cut the last axis in two, turn the first part, put both together.
# 3. `torch.cat([apply_rope(x[..., :rotary_dim], …), x[..., rotary_dim:]], dim=-1)`.

# %% [markdown] worth="rope.apply_partial_rope"
# DeepSeek-V2 ([2405.04434](https://arxiv.org/abs/2405.04434)) turns 64 features of each query head and leaves 128 alone. The part without positions is what its cache can compress, as unit 08 will show.

# %% [markdown]
# ### No positions at all
#
# Some models leave RoPE out of some layers (NoPE). In Command A, for example, every fourth layer has none. Yet without positions attention cannot see order, so how can that work?
#
# Shuffle all tokens but the last, and look at what the last one gets, after one causal layer and after two.

# %%
def nope_layer(x):
    future = torch.ones(len(x), len(x)).triu(1).bool()
    return x + (x @ x.T / 16).masked_fill(future, -math.inf).softmax(-1) @ x

words = torch.randn(8, 16, generator=torch.Generator().manual_seed(2))
shuffled = words[[4, 2, 6, 0, 5, 1, 3, 7]]
one_layer = (nope_layer(words) - nope_layer(shuffled))[-1].abs().max().item()
two_layers = (nope_layer(nope_layer(words)) - nope_layer(nope_layer(shuffled)))[-1].abs().max().item()
f"one layer {one_layer:.1e}, two layers {two_layers:.3f}"

# %% [markdown]
# One layer sees only a bag of tokens. In a second layer, however, the causal mask gives order away, because each token has seen a different set of predecessors ([Haviv et al. 2022](https://arxiv.org/abs/2203.16634), [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466)). Combined with RoPE layers, NoPE layers can specialize in content at any distance.

# %% [markdown]
# ## 8. Longer than trained
#
# Models are often used on longer texts than they were trained on. RoPE's formula works for any position, but does the model? Suppose it was trained on 64 tokens, with $D = 32$ and base 10,000. How far has each clock turned by then, and how far at position 256?

# %%
turns = 64 / wavelengths(32)
with described("Turns of 16 pairs within 64 and 256 positions: five pairs pass one full turn in training, "
               "eleven do not."):
    plt.semilogy(turns, "o-", label="after 64 positions")
    plt.semilogy(4 * turns, "s--", label="after 256 positions")
    plt.axhline(1, color="black", linewidth=1)
    plt.legend(), plt.gca().set(xlabel="pair i", ylabel="turns")

# %% [markdown]
# Two things are new beyond the trained length.
#
# - **Positions never seen:** the first pairs have been round the dial, so at position 256 their hands point in known directions. The slow ones, however, reach a part of the dial that training never showed.
# - **More keys than ever:** softmax divides its weight among all keys. Four times as many of them can spread it, so that less is left for the one that matters.

# %% [markdown]
# Do they matter? In a memory game, {{length.trained}} cards lie in a row, 32 kinds, each twice, in random colors. A model with one layer and two heads reads them from left to right, and answers two questions at each card.
#
# - **twin**: this kind was here before, but in which color? (content, at any distance)
# - **back**: which color had the card three positions back? (an exact position, close by)
#
# There are eight colors, so guessing is right once in eight.

# %% [markdown]
# The recorded models were trained for {{length.steps:,}} steps on rows of {{length.trained}} and tested on rows of {{length.tested}}, with {{length.seeds:word}} seeds each.
#
# ### Claims on trial: extrapolation
#
# > *"Natural extrapolation: the turn is defined for any $m$, so very long texts are supported."* The same page, eight lines later: *"Beyond the trained length the angles are outside of what was trained, which may cost quality; scaling mitigates it."*
#
# > *"Sinusoidal positions support extrapolation."*

# %%
runs, names = recorded("length")["schemes"], ["RoPE", "sinusoidal"]
at_the_end = lambda names: {n: [f"{q} {run[q][-1]:.2f}" for run in runs[n] for q in ("twin", "back")] for n in names}
with described("One line per seed. Up to position 64 all are near 1; then all fall, by position 256 to {ends}.",
               ends=at_the_end(names)):
    length.draw({}, recorded("length"), names)

# %% [markdown] evidence="recorded: length, control: trained length + cited: 2108.12409"
# **Verdict: being defined is not the same as working, and the warning was right.** At position {{length.trained}} both schemes answer both questions in {{length.rope.back.trained.right}} of {{length.rope.of}} runs. The table shows what is left at {{length.tested}}, from the lowest run to the highest.
#
# | right answers at position {{length.tested}} | *twin* | *back* |
# |---|---|---|
# | RoPE | {{length.rope.twin.end.min:.0%}} to {{length.rope.twin.end.max:.0%}} | {{length.rope.back.end.min:.0%}} to {{length.rope.back.end.max:.0%}} |
# | sinusoidal | {{length.sinusoidal.twin.end.min:.0%}} to {{length.sinusoidal.twin.end.max:.0%}} | {{length.sinusoidal.back.end.min:.0%}} to {{length.sinusoidal.back.end.max:.0%}} |
#
# The trained length is what counts: after rows of {{length.shorter.trained}}, RoPE is down on average to {{length.shorter.rope.twin.end.mean:.0%}} and {{length.shorter.rope.back.end.mean:.0%}} at {{length.shorter.tested}}. For sinusoidal and rotary language models, [Press et al.](https://arxiv.org/abs/2108.12409) plot how the perplexity ($e^{\text{loss}}$; lower is better) rises past the trained length.

# %% [markdown]
# ### Bring the hands back
#
# The first can be undone without any training, by choosing angles that the model knows. There are three well-known ways to read a text of $s$ times the trained length.
#
# - **Position interpolation** (PI, [Chen et al. 2023](https://arxiv.org/abs/2306.15595)) squeezes the positions to $m/s$.
# - **NTK-aware** scaling enlarges the base to $\text{base}\cdot s^{D/(D-2)}$. The slowest pair then turns $s$ times slower, while the fastest turns as before.
# - **Dynamic NTK** does the same with $s = \text{length now} / \text{length trained}$, and changes nothing up to the trained length.

# %% [markdown]
# As numerals, PI divides the number before it is written, which slows down all digits. NTK writes the number itself, but in a larger base: the fast digits hardly change, and the slow ones take most of the stretch. For example, base 100, $s = 4$ and $D = 4$ give the new base $100\cdot 4^{4/2} = 1600$.
#
# In the picture of section 3, choose PI or NTK under **Slowed by**, and watch the hatched parts.

# %% [markdown] statement="rope.stretch"
# Write the three as functions.
#
# - `position_interpolation(position_ids, s)`: float32 positions, same shape.
# - `ntk_base(base, s, D)`: the enlarged base, a float.
# - `dynamic_ntk_base(base, D, seq_len, max_position)`: the base for a text of `seq_len` positions, a float; `max_position` is the trained length.

# %% exercise="rope.stretch"
def position_interpolation(position_ids, s):
    """Places divided by s, float32, same shape. arXiv:2306.15595."""
    ### BEGIN SOLUTION
    return position_ids.float() / s
    ### END SOLUTION


def ntk_base(base, s, D):
    """The base at which the slowest of D/2 pairs turns s times slower, a float. arXiv:2309.00071, 3.1."""
    ### BEGIN SOLUTION
    return base * s ** (D / (D - 2))
    ### END SOLUTION


def dynamic_ntk_base(base, D, seq_len, max_position):
    """ntk_base for a text of seq_len tokens in a model trained on max_position: a float."""
    ### BEGIN SOLUTION
    return ntk_base(base, max(seq_len, max_position) / max_position, D)
    ### END SOLUTION

# %% [markdown] hints="rope.stretch"
# 1. Where does the exponent come from? The slowest pair has $\theta = \text{base}^{-(D-2)/D}$. By what must the base be multiplied so that this becomes $s$ times smaller?
# 2. Divide (no rounding); multiply the base by a power of $s$; for the dynamic form $s$ is never below 1.
# 3. `base * s ** (D / (D - 2))`, and `s = max(seq_len, max_position) / max_position`.

# %% [markdown] worth="rope.stretch"
# NTK-aware scaling was first published as a post on Reddit in 2023, which the YaRN paper ([2309.00071](https://arxiv.org/abs/2309.00071)) cites. *NTK* is the neural tangent kernel, a theory of how wide networks learn.

# %%
slower = rope_frequencies(32, ntk_base(10000.0, 4, 32)) / rope_frequencies(32)
ntk_base(10000.0, 8, 128), slower[[0, -1]]

# %%
predict("rope.p2", "PI squeezes all positions by 4, without any further training. On rows of 256, what does it do?",
        ["rescues both questions", "rescues twin, ruins back", "rescues back, ruins twin", "rescues neither question"])

# %%
pi = runs["RoPE + PI"]

# %%
reveal("rope.p2",
       lambda: f"at position 256: twin {min(run['twin'][-1] for run in pi):.2f} or more, "
               f"back {max(run['back'][-1] for run in pi):.2f} or less, in {len(pi)} runs (recorded)",
       "Content far away is in known territory again. However, three positions back is now 0.75 of a step, "
       "which no head has learned.",
       answer="rescues twin, ruins back")

# %% [markdown]
# Now the **same trained models** read the long rows with other angles, and nothing is trained again. The last line is a simple baseline: plain RoPE, but each card sees only the {{length.trained}} cards up to itself, so that neither distances nor the number of keys are new.

# %%
names = ["RoPE + PI", "RoPE + NTK", "RoPE + window of 64"]
with described("One line per seed. Share of right answers at position 256: {ends}.", ends=at_the_end(names)):
    length.draw({}, recorded("length"), names)

# %% [markdown] evidence="recorded: length, control: trained length"
# **Without any further training, NTK finds more twins than plain RoPE, whereas PI loses *back* completely.** The table shows what NTK gains at four times the trained length: the share of right answers minus that of plain RoPE, mean of {{length.ntk_minus_rope.twin.pairs}} pairs of runs ± standard error.
#
# | trained on | *twin* | *back* |
# |---|---|---|
# | {{length.trained}} | {{length.ntk_minus_rope.twin.mean:+.2f}} ± {{length.ntk_minus_rope.twin.error:.2f}} | {{length.ntk_minus_rope.back.mean:+.2f}} ± {{length.ntk_minus_rope.back.error:.2f}} |
# | {{length.shorter.trained}} | {{length.shorter.ntk_minus_rope.twin.mean:+.2f}} ± {{length.shorter.ntk_minus_rope.twin.error:.2f}} | {{length.shorter.ntk_minus_rope.back.mean:+.2f}} ± {{length.shorter.ntk_minus_rope.back.error:.2f}} |
#
# With PI, every run is only as good as guessing on *back*. PI is meant to be followed by some training, and its authors report that 1,000 steps repair a LLaMA. Here, however, {{length.tuning_steps}} steps on rows of {{length.tested}} left *back* at {{length.rope_pi_tuned.back.end.max:.0%}} or less.

# %%
show_large("length")
where(recorded("length"))

# %% [markdown]
# ### Extension: claim on trial, a strong baseline
#
# > *"Local attention is a super-strong baseline: the data look as in training. But it does badly when something important lies outside of the mask."*
#
# The next cell shows the window after training on {{length.trained}} positions, and on {{length.shorter.trained}}. Each model reads rows four times as long.

# %%
shorter = recorded("length")["shorter"]["RoPE + window of 32"]
for width, trained in ((64, runs["RoPE + window of 64"]), (32, shorter)):
    ends = {ask: [run[ask][-1] for run in trained] for ask in ("back", "twin")}
    print(f"window of {width}: " + ", ".join(f"{ask} {min(v):.2f} … {max(v):.2f}" for ask, v in ends.items()))

# %% [markdown] evidence="recorded: length, control: trained length"
# **Verdict: the claim is right on both counts.** Without any scaling, the window answers *back* at every length. However, it loses the twins that lie farther back than it is wide.
#
# | trained on, and width | *back*, at worst | *twin*, at the end |
# |---|---|---|
# | {{length.trained}} | {{length.rope_window_of_64.back.anywhere.min:.0%}} | {{length.rope_window_of_64.twin.end.mean:.0%}} |
# | {{length.shorter.trained}} | {{length.shorter.rope_window_of_32.back.anywhere.min:.0%}} | {{length.shorter.rope_window_of_32.twin.end.mean:.0%}} |

# %% [markdown]
# ## 9. Extension: YaRN
#
# PI ruins *back* because it slows *every* pair down, also those that had been all round in training. Neighbors are then a quarter of a step apart, which the model never saw. Could one slow down only the pairs that need it?
#
# YaRN ([Peng et al. 2023](https://arxiv.org/abs/2309.00071)) decides by the number of turns within the trained length $L$. A pair with 32 turns or more is kept, a pair with 1 turn or less is squeezed as in PI, and between them there is a ramp.

# %% [markdown]
# To build the ramp we need to know which pair makes $r$ turns within $L$. The solution of $L\,\theta_i = 2\pi r$ for $i$ is
#
# $$i(r) = \frac{D\,\ln\bigl(L/(2\pi r)\bigr)}{2\ln \text{base}}$$
#
# For example, take $D = 8$, base 10,000 and $L = 4096$.

# %%
[8 * math.log(4096 / (2 * math.pi * r)) / (2 * math.log(10000)) for r in (32, 1)]

# %% [markdown]
# So 32 turns happen between pairs 1 and 2, and one turn between pairs 2 and 3. Rounded outwards, this gives low = 1 and high = 3. The ramp is 0 at pair 1 and 1 at pair 3, so for the four pairs it is $0, 0, \tfrac12, 1$.

# %% [markdown] statement="rope.yarn_ramp"
# Write the ramp for all $D/2$ pairs, float32:
#
# - low is $i(\beta_{fast})$ rounded down, but at least 0; high is $i(\beta_{slow})$ rounded up, but at most $D - 1$;
# - pair $i$ gets $(i - low)/(high - low)$, limited to $[0, 1]$.
#
# 0 means "keep", 1 means "divide by $s$".

# %% exercise="rope.yarn_ramp"
def yarn_ramp(D, base, original_max, beta_fast=32, beta_slow=1):
    """How much each pair is squeezed, arXiv:2309.00071, linear in the pair's index as in the authors' code.

    Args:
        D: even size of a head.
        base: float.
        original_max: trained length L.
        beta_fast: pairs with this many turns within L, or more, are kept.
        beta_slow: pairs with this many turns or fewer are divided by s.

    Returns:
        (D/2,) float32 in [0, 1].
    """
    ### BEGIN SOLUTION
    def pair_with(turns):
        return D * math.log(original_max / (2 * math.pi * turns)) / (2 * math.log(base))

    low = max(math.floor(pair_with(beta_fast)), 0)
    high = min(math.ceil(pair_with(beta_slow)), D - 1)
    return ((torch.arange(D // 2) - low) / (high - low)).clamp(0, 1)
    ### END SOLUTION

# %% [markdown] hints="rope.yarn_ramp"
# 1. The worked example has the formula for $i(r)$. Make it a small function inside yours.
# 2. `math.floor` and `max` for low, `math.ceil` and `min` for high, then one line with `torch.arange(D // 2)` and `clamp`.
# 3. `return ((torch.arange(D // 2) - low) / (high - low)).clamp(0, 1)`.

# %% [markdown] worth="rope.yarn_ramp"
# The paper writes the ramp as linear in the number of turns, whereas the released code makes it linear in the pair's index. Turns fall geometrically with the index, so the two differ between the ends.

# %% [markdown] statement="rope.yarn_frequencies"
# Mix the frequencies: each pair gets $\theta_i\,(1 - \text{ramp}_i) + \dfrac{\theta_i}{s}\,\text{ramp}_i$, float32.
#
# YaRN also reacts to the second novelty of section 8, more keys, over which attention can spread. It sharpens attention by dividing scores by a temperature $t < 1$, $q^\top k / (t\sqrt D)$, with $\sqrt{1/t} = 0.1\ln s + 1$. Code multiplies queries *and* keys by that root. `yarn_temperature(s)` returns it, a float: $\sqrt{1/t}$, not $t$.

# %% exercise="rope.yarn_frequencies"
def yarn_frequencies(D, base, s, original_max, beta_fast=32, beta_slow=1):
    """YaRN's frequencies: (D/2,) float32, a mix of theta_i and theta_i / s by yarn_ramp. arXiv:2309.00071."""
    ### BEGIN SOLUTION
    theta_i = rope_frequencies(D, base)
    ramp = yarn_ramp(D, base, original_max, beta_fast, beta_slow)
    return theta_i * (1 - ramp) + theta_i / s * ramp
    ### END SOLUTION


def yarn_temperature(s):
    """√(1/t) of arXiv:2309.00071, a float: the factor on queries and on keys; scores grow by its square, 1/t."""
    ### BEGIN SOLUTION
    return 0.1 * math.log(s) + 1.0
    ### END SOLUTION

# %% [markdown] hints="rope.yarn_frequencies"
# 1. Where the ramp is 0 nothing changes; where it is 1 the frequency is divided by $s$.
# 2. Two calls to your own functions, then the formula of the statement. `math.log` is the natural logarithm, and $t$ itself is never needed.
# 3. `theta_i * (1 - ramp) + theta_i / s * …`, and `0.1 * math.log(s) + …`.

# %% [markdown] worth="rope.yarn_frequencies"
# $0.1\ln s + 1$ is a fit, not a derivation: the authors took what gave LLaMA models the lowest perplexity ([2309.00071](https://arxiv.org/abs/2309.00071)). For $s = 4$, for example, it is 1.139: scores grow by $1/t = 1.30$ and $t$ is 0.77.

# %% [markdown]
# By what factor does each scheme slow each pair down? The next plot shows it for $s = 8$.

# %%
slowed = lambda frequencies: rope_frequencies(128) / frequencies
with described("Slowing factor per pair for s = 8: PI is 8 everywhere, NTK rises from 1 to 8 over all pairs, "
               "YaRN is 1 up to pair 16 and 8 from 41 on."):
    plt.plot(torch.full((64,), 8.0), label="PI")
    plt.plot(slowed(rope_frequencies(128, ntk_base(10000.0, 8, 128))), label="NTK-aware")
    plt.plot(slowed(yarn_frequencies(128, 10000.0, 8, 2048)), label="YaRN, trained on 2,048")
    plt.legend(), plt.gca().set(xlabel="pair i", ylabel="turns slower by")

# %% [markdown] statement="rope.apply_scaled_rope"
# The schemes differ only in their frequencies, so one function can serve them all. Write RoPE (interleaved) with frequencies handed in, positions that may be fractions, and a factor on the result.
#
# The rest is as in `apply_rope`: angles in float32 (float64 for float64 inputs), result in the dtype of `x`, gradients to `x`.

# %% exercise="rope.apply_scaled_rope"
def apply_scaled_rope(x, position_ids, frequencies, temperature=1.0):
    """RoPE with any frequencies.

    Args:
        x: (B, H, T, D).
        position_ids: (T,) or (B, T), integers or fractions.
        frequencies: (D/2,) float32.
        temperature: factor on the result, as yarn_temperature gives it.

    Returns:
        (B, H, T, D), same dtype as x.
    """
    ### BEGIN SOLUTION
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * frequencies.to(wide)
    if position_ids.dim() == 2:
        angles = angles.unsqueeze(1)
    cos, sin = angles.cos() * temperature, angles.sin() * temperature
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).to(x.dtype)
    ### END SOLUTION

# %% [markdown] hints="rope.apply_scaled_rope"
# 1. Two lines of your `apply_rope` change.
# 2. Take the frequencies from the argument, and multiply cosine and sine by the factor.
# 3. `cos, sin = angles.cos() * temperature, angles.sin() * …`; nothing may round the positions to whole numbers.

# %% [markdown] worth="rope.apply_scaled_rope"
# Hugging Face's LLaMA code does the same: `rope_type` picks the frequencies, and `attention_scaling` multiplies cosine and sine. The attention kernel therefore need not know which scheme is in use.

# %% [markdown] evidence="recorded: length, control: trained length"
# **In the game of section 8 YaRN rescues both questions, if the training was long enough.** After training on {{length.trained}}, the weights of plain RoPE answer both at position {{length.tested}} in {{length.rope_yarn.back.end.right}} of {{length.rope_yarn.of}} runs. After training on {{length.shorter.trained}}, all runs still find the twins at {{length.shorter.tested}} ({{length.shorter.rope_yarn.twin.end.min:.0%}} at worst), but they answer only {{length.shorter.rope_yarn.back.end.min:.0%}} to {{length.shorter.rope_yarn.back.end.max:.0%}} of *back*.
#
# A likely reason is that the ramp reaches 1 at pair 5 after 64 positions and already at pair 3 after 32: more of the fast pairs, which tell neighbors apart, are squeezed.

# %% [markdown]
# ## 10. Extension: your own run
#
# Up to here other models played the game. Now one plays it with your own RoPE, and you measure it.

# %% [markdown] statement="rope.accuracy_by_position"
# Write the measurement: the share of right answers in each stretch of `width` positions, over the whole batch. A target of −1 means that nothing was asked, so it counts neither as right nor as wrong.
#
# The answer is the class with the largest logit, and $T$ is a multiple of `width`.

# %% exercise="rope.accuracy_by_position"
def accuracy_by_position(logits, targets, width):
    """Accuracy along the row.

    Args:
        logits: (B, T, C) floating tensor of any precision.
        targets: (B, T) int64, -1 where nothing is asked; every stretch has at least one question.
        width: positions per stretch, divides T.

    Returns:
        (T/width,) float32 tensor.
    """
    ### BEGIN SOLUTION
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (-1, width)).sum((0, 2)).float()
    return fold(right) / fold(asked)
    ### END SOLUTION

# %% [markdown] hints="rope.accuracy_by_position"
# 1. Two counts per stretch: questions asked, and questions answered right. Divide at the very end.
# 2. `targets >= 0` marks the questions. Cut the axis T into `(T/width, width)`, and sum over the batch and the last axis.
# 3. `fold = lambda t: t.unflatten(1, (-1, width)).sum((0, 2)).float()`, then `fold(right) / fold(asked)`.

# %% [markdown] worth="rope.accuracy_by_position"
# One mean over a long row hides where it breaks. For example, 64 perfect positions and 192 at 1/8 average to 0.34, but a model that is equally poor everywhere can have that mean, too.

# %% [markdown]
# Now your RoPE goes into a model. It reads rows of {{length.trained}} cards, for a fifth of the recorded steps.

# %%
rope = length.Scheme(turn=apply_rope)
model, seconds = length.train(rope)
live = {"RoPE": length.test(model, accuracy_by_position)}
f"{seconds:.0f} s; twin {live['RoPE']['twin'][3]:.2f}, back {live['RoPE']['back'][3]:.2f} near position 64"

# %% [markdown]
# Next, the same trained model reads long rows with other angles.

# %%
D, s, L = 32, 4, 64
yarn, factor = yarn_frequencies(D, 10000.0, s, L), yarn_temperature(s)
schemes = {
    "RoPE + PI": lambda x, ids: apply_scaled_rope(x, position_interpolation(ids, s), rope_frequencies(D)),
    "RoPE + NTK": lambda x, ids: apply_rope(x, ids, ntk_base(10000.0, s, D)),
    "RoPE + YaRN": lambda x, ids: apply_scaled_rope(x, ids, yarn, factor),
}
for name, turn in schemes.items():
    live[name] = length.test(model, accuracy_by_position, length.Scheme(turn=turn))
window = length.Scheme(turn=apply_rope, window=L)
live["RoPE + window of 64"] = length.test(model, accuracy_by_position, window)

# %%
ends = {name: [round(run[question][-1], 2) for question in ("twin", "back")] for name, run in live.items()}
with described("Live curves in color over recorded gray bands. Twin and back at position 256: {ends}.", ends=ends):
    length.draw(live, recorded("length"), list(live))

# %% [markdown]
# The gray bands are the recorded runs, from the worst to the best of {{length.seeds:word}} seeds, and the colored lines are your run.
#
# How much of its success does YaRN owe to its temperature? Here is the same model with YaRN's frequencies alone.

# %%
alone = length.test(model, accuracy_by_position,
                    length.Scheme(turn=lambda x, ids: apply_scaled_rope(x, ids, yarn)))
{"with the temperature": ends["RoPE + YaRN"], "without": [round(alone[question][-1], 2) for question in ("twin", "back")]}

# %% [markdown]
# So this game cannot tell what the temperature is good for. It was fitted on the perplexities of LLaMA models, on texts much longer than 256 tokens, with far more keys to spread over.
#
# For comparison, ALiBi (unit 05) lowers the score by slope × distance, and NoPE has no positions at all.

# %%
slopes = torch.tensor([1 / 16, 1 / 256])[:, None, None]
alibi, seconds = length.train(length.Scheme(bias=lambda distance: -slopes * distance))
live["ALiBi"] = length.test(alibi, accuracy_by_position)

# %%
nope, seconds = length.train(length.Scheme())
live["no positions"] = length.test(nope, accuracy_by_position)

# %%
names = ["RoPE", "ALiBi", "no positions"]
ends = {name: [round(live[name][question][-1], 2) for question in ("twin", "back")] for name in names}
with described("Live curves in color over recorded gray bands. Twin and back at position 256: {ends}.", ends=ends):
    length.draw(live, recorded("length"), names)

# %% [markdown]
# At this one trained length, NoPE and ALiBi find the twin at every position. However, neither points at exactly three positions back: one layer of ALiBi with two heads answers {{length.alibi.back.trained.mean:.0%}} of *back* at position {{length.trained}}. The bias of one head only falls with distance, so it takes several heads to single out a distance. So more keys alone do not make plain RoPE lose the twins.

# %% [markdown]
# ## 11. Extension: which other schemes work beyond the trained length?
#
# Plain RoPE needs help on long rows. To see whether other schemes do, unit 05's relative schemes played the same game, recorded at the same size. Two of them use tables that have no rows beyond the trained length, so they cannot be tested there.

# %%
table = recorded("length")["schemes"]
mean = lambda runs, question, stretch: sum(r[question][stretch] for r in runs) / len(runs)
print(f"{'':22}twin at 64  at 256   back at 64  at 256")
for name, found in table.items():
    last = [f"{mean(found, q, -1):9.2f}" if len(found[0][q]) > 4 else "     none" for q in ("twin", "back")]
    print(f"{name:22}{mean(found, 'twin', 3):8.2f}{last[0]}{mean(found, 'back', 3):12.2f}{last[1]}")

# %% [markdown]
# At position {{length.tested}} Shaw's scheme still finds {{length.shaw.twin.end.mean:.0%}} of the twins, and DeBERTa answers {{length.deberta.back.end.mean:.0%}} of *back*, without any help. Transformer-XL keeps *back*, too, but it finds the twins in only {{length.transformer_xl.twin.trained.right:word}} of {{length.transformer_xl.of}} runs.

# %% [markdown]
# **Shaw and DeBERTa.** Their tables end at distance 16, and everything farther shares the last row. To test whether that is the reason, both were recorded again with a row for *each* distance up to 256, although rows from {{length.trained}} on never occur in training. Then those rows were drawn anew, as large as the trained ones.

# %%
for name, found in recorded("length")["ablations"].items():
    sizes = ", ".join(f"{run['far']:.2f}" for run in found if "far" in run)
    lowest = {question: min(run[question][-1] for run in found) for question in ("twin", "back")}
    print(f"{name:24} lowest of {len(found)} runs at 256: {lowest}" + f"; size of far rows {sizes}" * bool(sizes))

# %% [markdown] evidence="recorded: length, control: clipping distance + argued"
# **The shared last row is not the reason, because both schemes work without it.** With a row for each distance, both questions are right (95 % or more) at position {{length.tested}} in {{length.ablations.shaw_every_distance.back.end.right}} of {{length.ablations.shaw_every_distance.of}} runs of Shaw and {{length.ablations.deberta_every_distance.back.end.right}} of {{length.ablations.deberta_every_distance.of}} of DeBERTa. With the far rows drawn anew, the counts are {{length.ablations.shaw_far_rows_drawn.back.end.right}} and {{length.ablations.deberta_far_rows_drawn.back.end.right}}.
#
# A likely reason is that such rows are *added* and $q^\top k$ stays what it was, whereas RoPE turns $q$ and $k$. Partial RoPE, which leaves half of the features alone, fits this: it finds {{length.partial_rope.twin.end.mean:.0%}} of the twins at {{length.tested}}, RoPE {{length.rope.twin.end.mean:.0%}}.

# %% [markdown] evidence="recorded: length, control: steps"
# **Transformer-XL had not learned the twin yet.** It already misses the twins at position {{length.trained}}. With {{length.longer_steps:,}} steps instead of {{length.steps:,}} it finds them there in {{length.ablations.transformer_xl_longer.twin.trained.right}} of {{length.ablations.transformer_xl_longer.of}} runs, and at {{length.tested}} as well ({{length.ablations.transformer_xl_longer.twin.end.min:.0%}} at worst).

# %% [markdown]
# ## 12. Your own experiment
#
# The memory game was made to show differences, but do they matter on real text?

# %% [markdown]
# The *growing character model* is a two-layer Transformer that learns Jane Austen's novels character by character within seconds. In the cell below, `table=None` takes away its learned table of positions, and `rotate` turns its queries and keys by your function. The loss is measured on text that the model never saw, in nats (units of the natural logarithm, lower is better).

# %%
from anatomy.experiments.growing import grow

mine = lambda x: apply_rope(x, torch.arange(x.shape[2]), base=10000.0)
for seed in (0, 1):
    plain, turned = grow(seed=seed, table=None), grow(seed=seed, table=None, rotate=mine)
    print(f"seed {seed}: {plain.loss:.3f} without positions, {turned.loss:.3f} with RoPE, in nats per character")

# %% [markdown]
# What would you change, for example the base, or only half of the features turned, or the table and RoPE together? Run at least two seeds for each choice, because a difference that is no larger than the one between two seeds means little. Then write down the answer that you would give. Nothing here is checked or graded.

# %% [markdown] written="question"
# You run weights that were made for the half-split layout with your interleaved `apply_rope`. All shapes fit, and there is no error. Would this test find the mistake: add 1,000 to all positions, and the scores must stay the same? Would a text of one token? Explain both, and describe a test that finds it.
#
# - which property the shift test checks, and whether the wrong layout has it
# - the only distance in a text of one token
# - what the test compares, and on which text

# %% [markdown] written="answer" points=3
# Neither finds it. Interleaved RoPE is a rotation whatever the weights are: scores depend on distances alone, and a shift of all positions changes nothing. In a text of one token the only distance is 0, where the two turns cancel, so its scores are right in either layout. The scores at other distances are wrong, because features that were trained as partners are turned by different angles. A test has to compare scores or outputs with those of the code that the weights were made for, on a text of two tokens or more. The rows of $W_Q$ and $W_K$, reordered once, must make the two agree.
#
# ### BEGIN MARK SCHEME
# - 1 point: the shift test passes, because both layouts are rotations and only distances count.
# - 1 point: one token passes, because at distance 0 the turns cancel.
# - 1 point: a comparison with the original code, or with the other layout's function, on two tokens or more.
# - No point: "training would show it" or "the lengths change". Nothing is trained here, and a rotation keeps lengths.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("Query at position 7, key at position 12. Which turn is left between q and k in the score?",
     {"by 12θ": (False, "That is the key's own turn."),
      "by 5θ": (True, "R(7)ᵀR(12) = R(12 − 7)."),
      "by −5θ": (False, "The transpose turns back by 7, then on by 12."),
      "by 19θ": (False, "The transpose turns back, so 7 is subtracted.")})

# %%
quiz("You load weights made for the half-split layout into interleaved code. What happens?",
     {"shapes do not fit": (False, "Both layouts have the same shapes."),
      "it runs, and answers are bad": (True, "Partners turn by different angles. Permute W_Q and W_K."),
      "nothing changes": (False, "Only a permuted model gives the same scores.")})

# %%
quiz("Why is the slowest pair so slow, 54,410 positions for a turn at D = 128?",
     {"to save computation": (False, "Every pair costs the same."),
      "so that far distances stay distinct": (True, "A pair that has come round shows the same angle for two distances."),
      "by accident": (False, "The base 10,000 sets it, and longer contexts use larger bases.")})

# %%
quiz("Without more training, what does position interpolation spoil most?",
     {"content far away": (False, "That is what it rescues."),
      "exact positions close by": (True, "One position becomes 1/s of a step, which the fast pairs never saw."),
      "the lengths of vectors": (False, "It is still a rotation.")})

# %%
quiz("What does RoPE change when a whole text is shifted by 1,000 positions?",
     {"all scores": (False, "Scores depend on distances alone."),
      "nothing that comes out": (True, "Values are not turned, and scores depend on distances."),
      "only far scores": (False, "Every score, near or far, depends on n − m alone.")})

# %%
progress("06-rope")

# %% [markdown]
# ## Where this lives in real models
#
# - **LLaMA, Mistral, Qwen, Gemma and DeepSeek** use RoPE in every layer or in most. Llama 3 has base 500,000 ([2407.21783](https://arxiv.org/abs/2407.21783)).
# - **GPT-J and GPT-NeoX** ([2204.06745](https://arxiv.org/abs/2204.06745)) use partial RoPE.
# - **Code Llama** ([2308.12950](https://arxiv.org/abs/2308.12950)) has base 1,000,000 after tuning.
# - **PaLM** ([2204.02311](https://arxiv.org/abs/2204.02311)) uses RoPE too, although some notes say otherwise.
#
# A model can now tell the order of its tokens. Next, **07-masks-and-objectives**: which tokens may look at which, and what a model learns to predict. Unit 08 uses your `position_ids` for a cache.
