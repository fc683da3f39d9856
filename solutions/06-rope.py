# %% [markdown]
# # Rotary positions
#
# **You will be able to**
#
# - explain why RoPE sees only distances;
# - write it as LLaMA's code does, and tell wrong versions from right ones;
# - say what happens beyond the trained length;
# - in the extensions: the whole proof, the complex form, YaRN, a training run.
#
# **Prerequisites:** units 01 and 05; sine, cosine, 2×2 matrices. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Two clocks with one hand each. Both hands point to 12. For every word that passes, a hand moves on by 30°.
#
# The *query* clock has seen 3 words, the *key* clock 1 word. The angle between the hands is 60°, and the product of the two unit vectors is $\cos 60° = 0.5$.
#
# What is it after 1,003 and 1,001 words? And at which other distances is it 0.5 as well?

# %% setup=true
import math

import matplotlib.pyplot as plt
import sympy as sp
import torch
from anatomy import case, check, predict, progress, quiz, reveal
from anatomy.experiments import length, recorded, show_large, where
from anatomy.plots import described, use_style
from anatomy.widgets import RopeExplorer, WavelengthExplorer

theta, q0, q1, k0, k1 = sp.symbols("theta q0 q1 k0 k1", real=True)
x1, x2, a = sp.symbols("x1 x2 a", real=True)

# %%
use_style()

# %%
predict("rope.p1", "The product of the two hands after 1,003 and 1,001 words is…",
        ["0.5 again", "some other number", "0, since both have turned so often"])

# %%
reveal("rope.p1",
       lambda: f"{math.cos(math.radians(30 * 1003 - 30 * 1001)):.3f}",
       "Both hands have made 1,000 more steps. Only the distance 2 counts; "
       "but 10, 14, 22, … give 0.5 as well.",
       answer="0.5 again")

# %% [markdown]
# Turning makes a product depend on the *distance* alone. But one clock is not enough: to it, 2 and 14 words apart look the same.
#
# RoPE ([Su et al. 2021](https://arxiv.org/abs/2104.09864)) gives every head many clocks, from fast to very slow.

# %% [markdown]
# ## 1. Turning one pair
#
# Turn the point $(1, 0)$ by 30°, counter-clockwise. It lands at $(0.866, 0.5)$. The point $(0, 1)$ lands at $(-0.5, 0.866)$.
#
# A matrix is what it does to these two points: they are its columns.
#
# $$R(\varphi) = \begin{pmatrix}\cos\varphi & -\sin\varphi\\ \sin\varphi & \cos\varphi\end{pmatrix}$$

# %% [markdown]
# Worked example: $(2, 1)$ turned by 30°, first entry by entry.

# %%
phi = torch.tensor(math.pi / 6)
2 * phi.cos() - 1 * phi.sin(), 2 * phi.sin() + 1 * phi.cos()

# %% [markdown] statement="rope.rotation_matrix_2d"
# Build $R(\varphi)$ for a whole tensor of angles (radians) at once. Angles of shape `(...)` give matrices of shape `(..., 2, 2)`, same dtype. The first row is already there.

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
# 1. Which sign has the sine in the second row? Look at where $(1, 0)$ lands.
# 2. Make `second` as `first` was made. The two rows then become a matrix by stacking them along the axis before the last.
# 3. `second = torch.stack([…, …], dim=-1)`, then `return torch.stack([first, second], dim=-2)`.

# %% [markdown] worth="rope.rotation_matrix_2d"
# The angle comes first, then one cosine and one sine. Reaching place 1,000 by multiplying 1,000 one-step matrices instead would collect a rounding error at every step.

# %%
rotation_matrix_2d(phi) @ torch.tensor([2.0, 1.0])

# %% [markdown]
# Now see the clock of the puzzle. It steps by 30°, and the product of its hands is drawn against their distance.

# %%
steps = torch.arange(37) * math.radians(30)
hands = rotation_matrix_2d(steps) @ torch.tensor([1.0, 0.0])
with described("One clock: the product falls from 1 at distance 0 to -1 at 6, "
               "and is back at 1 at 12, 24 and 36."):
    plt.plot(hands @ hands[0], "o-")
    plt.axhline(0.5, color="black", linewidth=0.6)
    plt.gca().set(xlabel="distance in words", ylabel="product of the hands")

# %% [markdown]
# ### Extension: the same turn with one multiplication
#
# A pair $(a, b)$ is also a complex number $a + bi$. Multiplying by $i$ is a quarter turn: $(2 + i)\cdot i = -1 + 2i$.
#
# Multiplying by $e^{i\varphi} = \cos\varphi + i\sin\varphi$ is a turn by $\varphi$. Python knows complex numbers:

# %%
(2 + 1j) * 1j, (2 + 1j) * complex(math.cos(math.pi / 6), math.sin(math.pi / 6))

# %% [markdown] statement="rope.rotate_complex"
# Turn pairs by complex multiplication. `x` ends in an axis of size 2 (real part, imaginary part); `angle` broadcasts against the axes before it. The result has the shape and dtype of `x`.
#
# Raise `ValueError` when the last axis is not a pair. Useful: `torch.view_as_complex`, `torch.polar(length, angle)`, `torch.view_as_real`.

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
# Claim: turn the query by $m\theta$ and the key by $n\theta$. Then their product depends on $m$ and $n$ only through $m - n$.
#
# SymPy calculates with letters. It will check your formula for all $m$ and $n$ at once.

# %%
R = lambda angle: sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]])
m, n, d = sp.symbols("m n d", real=True)
R(a).T * R(a)

# %% [markdown]
# These entries are $\cos^2 a + \sin^2 a$ and zeros. SymPy leaves them as they stand until told otherwise:

# %%
(R(a).T * R(a)).applyfunc(sp.simplify)

# %% [markdown]
# ### Step 1 of the proof: two turns become one
#
# The score is $(R(m\theta)\,q)^\top (R(n\theta)\,k) = q^\top\, R(m\theta)^\top R(n\theta)\; k$. Look at the matrix in the middle:

# %%
R(m * theta).T * R(n * theta)

# %% [markdown] statement="rope.relative_rotation"
# Each entry is an addition formula, for example $\cos m\theta\cos n\theta + \sin m\theta\sin n\theta = \cos((n-m)\theta)$.
#
# Write $R(m\theta)^\top R(n\theta)$ as a SymPy matrix in which $m$ and $n$ no longer occur: a function of the distance $d = n - m$ alone. `d` is a number; use the symbol `theta`.

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
# Older relative schemes store a learned vector for each distance up to a limit ([Shaw et al. 2018](https://arxiv.org/abs/1803.02155)). Here the distance comes out of the product itself, without a table and without parameters.

# %% [markdown]
# Is it true for all $m$ and $n$, not only for numbers? SymPy simplifies the difference of both sides:

# %%
(R(m * theta).T * R(n * theta) - relative_rotation(n - m)).applyfunc(sp.simplify)

# %% [markdown]
# ### Extension: claim on trial, the direction
#
# > *"$(R_m q)^\top (R_n k) = q^\top R_{m-n}\, k$"* (from a page of notes)
#
# The distance is there. Is its sign right? Let $m = 2$, $n = 5$:

# %%
left = R(2 * theta).T * R(5 * theta)
[(left - R(step * theta)).applyfunc(sp.simplify) == sp.zeros(2) for step in (2 - 5, 5 - 2)]

# %% [markdown] evidence="exact"
# **Verdict: the sign is wrong.** It is $R_{n-m}$, as another page has it. With $R_{m-n}$ a key three words *before* would be scored like one three words *after*. (The line goes on in complex form, $q\,\bar k\,e^{i(m-n)\theta}$, and that is right: the conjugate moves the sign.)

# %% [markdown]
# ### Extension: step 2, the score written out
#
# The proof goes on in four more steps. With $q = (q_0, q_1)$ and $k = (k_0, k_1)$ the score $q^\top R\,k$ has four products. Here is the one for a turn of $30°$, as a pattern:

# %%
sp.expand((sp.Matrix([[q0, q1]]) * R(sp.pi / 6) * sp.Matrix([k0, k1]))[0])

# %% [markdown] statement="rope.expanded_score"
# Write the score $(R(m\theta)q)^\top(R(n\theta)k)$ in terms of $q_0, q_1, k_0, k_1$, $\theta$ and $d = m - n$.
#
# **Mind the direction:** here $d = m - n$, query place minus key place, as attention papers have it; above it was $n - m$.

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
# 1. Multiply the row $(q_0, q_1)$ with $R((n-m)\theta)$ and with the column $(k_0, k_1)$. You get two products with a cosine, two with a sine.
# 2. Collect: (something)·$\cos$ + (something)·$\sin$. Then replace $n - m$ by $-d$; the cosine does not notice, the sine does.
# 3. `(q0*k0 + q1*k1) * sp.cos(d*theta) + (q0*k1 - …) * sp.sin(d*theta)`.

# %% [markdown] worth="rope.expanded_score"
# The two coefficients are the dot and the cross product of the pair. Together they make $|q|\,|k|\cos(\alpha - d\theta)$, with $\alpha$ the angle from $q$ to $k$: content sets size and phase, distance only turns.

# %%
score = sp.Matrix([[q0, q1]]) * R(m * theta).T * R(n * theta) * sp.Matrix([k0, k1])
sp.simplify(score[0] - expanded_score(m - n))

# %% [markdown]
# #### Claim on trial: only a cosine
#
# > *"$\langle f(x_m, m), f(x_n, n)\rangle = x_m x_n \cos((m-n)\theta)$"* (from a page of notes)
#
# So a score could not tell "three before" from "three after", because the cosine is even. Take $q = (1, 0)$, $k = (0, 1)$, $\theta = 0.5$ and measure:

# %%
q, k = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
turned = lambda v, place: rotation_matrix_2d(torch.tensor(0.5 * place)) @ v
[round((turned(q, 10) @ turned(k, place)).item(), 3) for place in (7, 13)]

# %% [markdown] evidence="exact"
# **Verdict: half of it is missing.** The conclusion drawn there, that only the distance counts, is right. But two pairs also have the term $(q_0 k_1 - q_1 k_0)\sin((m-n)\theta)$, and it tells *before* from *after*. It vanishes only when $q$ and $k$ lie on one line.

# %% [markdown]
# ### Extension: step 3, lengths
#
# A turn keeps the length of every vector.
#
# Other recipes look similar. One found in notes maps $(x_1, x_2)$ into $(x_1\cos a - x_1\sin a,\; x_2\cos a + x_2\sin a)$.

# %% [markdown] statement="rope.squared_lengths"
# Give the squared length of the result as a SymPy expression in the angle `a`, for any `x1` and `x2` (numbers or letters): once for the true turn $(x_1\cos a - x_2\sin a,\ x_1\sin a + x_2\cos a)$, once for the recipe from the notes.

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
# The recipe from the notes is a diagonal matrix with entries $\cos a - \sin a$ and $\cos a + \sin a$. At 45° the first is 0: $x_1$ is erased, and nothing can bring it back.

# %% [markdown]
# With letters in place of numbers, both formulas hold for every vector:

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
# ### Extension: step 4, why pairs?
#
# Why not triples, or single numbers? Turn the question round. Wanted is any way $f$ to mark a vector with its place so that
#
# $$f(q, m)^\top f(k, n) = g(q, k, n - m).$$
#
# Two assumptions: $f$ is linear, and **queries and keys share it**: $f(x, m) = A_m x$. Then $A_m^\top A_n$ must be the same for all $m, n$ with the same distance. Which families $A_0, A_1, A_2, \dots$ can do that?

# %% [markdown] statement="rope.relative_gap"
# Build the instrument: how far is a family from depending on $n - m$ alone? Moving both places on by one must change nothing, so measure
#
# $$\max_{m, n}\;\bigl|A_{m+1}^\top A_{n+1} - A_m^\top A_n\bigr|$$
#
# over all entries and all places for which the next place exists. Return a Python float.

# %% exercise="rope.relative_gap"
def relative_gap(A):
    """How far A[m]ᵀA[n] is from being a function of n − m.

    Args:
        A: (N, D, D) float64 tensor, one matrix per place, N at least 2.

    Returns:
        float, the largest |A[m+1]ᵀA[n+1] − A[m]ᵀA[n]| over m, n in 0 … N−2 and all entries.
    """
    ### BEGIN SOLUTION
    S = torch.einsum("mji,njk->mnik", A, A)
    return (S[1:, 1:] - S[:-1, :-1]).abs().max().item()
    ### END SOLUTION

# %% [markdown] hints="rope.relative_gap"
# 1. For one pair of places it is `(A[m+1].T @ A[n+1] - A[m].T @ A[n]).abs().max()`. Which pairs are there?
# 2. Two loops over `range(len(A) - 1)` and a running maximum will do. Without loops: all products at once, then shift the table by one in both directions.
# 3. `S = torch.einsum("mji,njk->mnik", A, A)`, then compare `S[1:, 1:]` with `S[:-1, :-1]`.

# %% [markdown] worth="rope.relative_gap"
# Testing one step is enough, since a shift by 1,000 places is 1,000 shifts by one. In floating point small gaps can add up, so compare with a tolerance, not with 0.

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
# Read the table. Single numbers work only as ±1, which tells odd from even and nothing else. Turns in a plane work, also where a direction is dropped before. In three dimensions a turn about *one* axis works, but that is a plane plus a number that stands still. Turns about two axes keep every length, and fail: they do not commute.

# %% [markdown]
# #### Does the shared map matter?
#
# The shear failed. Give keys its powers $S^n$ and queries the powers of the inverse, transposed, $S^{-m\top}$. Then the product is $S^{-m} S^n = S^{n-m}$:

# %%
keys, queries = powers([[1.0, 0.3], [0.0, 1.0]]), powers([[1.0, 0.0], [-0.3, 1.0]])
products = torch.einsum("mji,njk->mnik", queries, keys)
one_map, two_maps = relative_gap(keys), (products[1:, 1:] - products[:-1, :-1]).abs().max().item()
round(one_map, 3), round(two_maps, 3)

# %% [markdown]
# With two maps, powers of **any** invertible matrix work, shears and growth included. xPos ([Sun et al. 2022](https://arxiv.org/abs/2212.10554)) uses that: beside the turn it multiplies queries by $\zeta^m$ and keys by $\zeta^{-n}$, one $\zeta$ per pair, so that scores fade with distance.
#
# From here on, one map for both.

# %% [markdown]
# **First, one map for all steps.** Send every vector $A_m x$ to $A_{m+1} x$, and sums to sums; call this map $U$. Products stay, $(A_{m+1} x)^\top (A_{n+1} y) = (A_m x)^\top (A_n y)$, because only the distance counts. Lengths are products, so a sum that is 0 goes to a vector of length 0: $U$ contradicts itself nowhere. It keeps all lengths and angles among these vectors, and leads from their space into the same space, which it therefore fills. On what is perpendicular to that space let $U$ do nothing. Then $U$ is orthogonal.

# %% [markdown]
# By its definition $A_{m+1} = U A_m$, and so $A_m = U^m A_0$ for **one orthogonal matrix** $U$. The first matrix may go into the weights, $A_0 W_Q$ and $A_0 W_K$ instead of $W_Q$ and $W_K$, and no score changes. It need not be invertible: the shadow in the table has an $A_0$ that drops a direction, and the same $U$ as the turn. What is left are the powers of $U$, which is called $A$ from here on.
#
# In one dimension that leaves:

# %%
sp.solve(a**2 - 1, a)

# %% [markdown]
# **Last, the planes.** Let $Av = \lambda v$. $A$ keeps lengths, so $|\lambda| = 1$. A real $\lambda$ is ±1: a direction that stands still or flips.
#
# Otherwise $\lambda = e^{i\varphi}$ and $v = x + iy$. Compare real and imaginary parts:
#
# $$Ax = \cos\varphi\, x - \sin\varphi\, y,\qquad Ay = \sin\varphi\, x + \cos\varphi\, y$$
#
# So $A$ maps the plane of $x$ and $y$ to itself. And $v^\top v = (Av)^\top(Av) = \lambda^2\, v^\top v$ with $\lambda^2 \ne 1$, hence $v^\top v = 0$: $x$ and $y$ are perpendicular and equally long. In that plane $A$ turns by $\varphi$.

# %% [markdown]
# **And the rest.** Let $V$ be the plane or direction just found, and $w$ perpendicular to it. $A$ maps $V$ onto itself, so every $v$ in $V$ is $Av'$ with $v'$ in $V$, and $(Aw)^\top v = (Aw)^\top (Av') = w^\top v' = 0$. What is perpendicular to $V$ stays so. Go on there, with fewer dimensions, until none is left.
#
# Here is a random orthogonal matrix in 6 dimensions, seen in the basis of its planes:

# %%
A, _ = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3)))
A = A * torch.linalg.det(A)**torch.tensor([1.0, 0, 0, 0, 0, 0])  # determinant 1: no mirror
values, vectors = torch.linalg.eig(A)
planes = vectors[:, values.imag > 0]
basis = math.sqrt(2) * torch.stack([planes.real, -planes.imag], -1).flatten(1)  # two columns per plane
(basis.T @ A @ basis).round(decimals=2) + 0.0

# %% [markdown] evidence="argued + exact"
# **If queries and keys share one linear map, it is made of planes that turn, and of directions that stand still or flip,** up to a change of basis that the weights can learn. The matrix above has three planes; the argument covers every other.
#
# RoPE fixes how fast they turn. (For pairs, [section 3.4.1](https://arxiv.org/abs/2104.09864) of the paper starts from the polar form of $f$ instead of linearity.)

# %% [markdown]
# ## 3. Many clocks
#
# A head of size $D = 4$ has two pairs. With base 10,000 the first turns by 1 radian per word, the second by 0.01. After 6 words the first has almost come round, and the second has moved by 0.06.
#
# The fast one tells neighbors apart, the slow one far from near, like a clock's second and hour hand.
#
# $$\theta_i = \text{base}^{-2i/D},\qquad i = 0, \dots, D/2 - 1$$

# %% [markdown]
# Worked example for $D = 8$ and base 16. The exponents are $0, \tfrac14, \tfrac12, \tfrac34$, so each pair turns half as fast as the one before:

# %%
[16 ** (-2 * i / 8) for i in range(4)]

# %% [markdown] statement="rope.rope_frequencies"
# Write $\theta_i$ for any even $D$ and any base, and the wavelengths $2\pi/\theta_i$: how many places a pair needs for one full turn. Both are float32 tensors of shape `(D/2,)`.
#
# Raise `ValueError` when $D$ is odd.

# %% exercise="rope.rope_frequencies"
def rope_frequencies(D, base=10000.0):
    """theta_i = base^(-2i/D), arXiv:2104.09864.

    Args:
        D: even size of a head.
        base: float.

    Returns:
        (D/2,) float32, radians per place, decreasing from 1.

    Raises:
        ValueError: D is odd.
    """
    ### BEGIN SOLUTION
    if D % 2:
        raise ValueError(f"RoPE turns pairs, so D must be even, got {D}")
    return float(base) ** (-torch.arange(0, D, 2, dtype=torch.float32) / D)
    ### END SOLUTION


def wavelengths(D, base=10000.0):
    """(D/2,) float32: places per full turn of each pair."""
    ### BEGIN SOLUTION
    return 2 * math.pi / rope_frequencies(D, base)
    ### END SOLUTION

# %% [markdown] hints="rope.rope_frequencies"
# 1. `torch.arange(0, D, 2)` is $2i$ for all pairs at once.
# 2. Check `D % 2` first. Then divide $2i$ by $D$, negate, and raise the base to it. A full turn has $2\pi$ radians.
# 3. `return float(base) ** (-torch.arange(0, D, 2, dtype=torch.float32) / …)`, and `return 2 * math.pi / rope_frequencies(…)`.

# %% [markdown] worth="rope.rope_frequencies"
# The exponents and the base 10,000 were taken over from the sinusoids of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762). For $D = 128$ each pair turns 1.155 times slower than the pair before.

# %%
[f"{n:,.0f}" for n in wavelengths(128)[[0, 16, 32, 48, 63]].tolist()]

# %% [markdown]
# In a LLaMA head ($D = 128$) the fastest pair comes round every 6 words, the slowest every 54,410. Move base and size, and watch which pairs complete a turn within the training length. The picture runs **your** function.

# %%
WavelengthExplorer(rope_frequencies)

# %% [markdown]
# ### Extension: claim on trial, one angle for all
#
# > *"In any even dimension RoPE is the 2-D case side by side"*, printed with **the same** $m\theta$ in every pair (from a page of notes; another page has an index).
#
# Scores would still depend on the distance alone. What would be lost? Compare a vector of length 1, spread evenly over all pairs, with itself at distance $d$. Pair $i$ contributes $\cos d\theta_i$:

# %%
far = torch.arange(200)
many = (far[:, None] * rope_frequencies(64)).cos().mean(1)  # the mean over 32 pairs
single = far.cos()  # the same angle in every pair
with described("One angle: the score comes back to almost 1 every 6.3 words. Many angles: it falls "
               "and never returns to 1."):
    plt.plot(far, single, linewidth=0.8, label="one angle")
    plt.plot(far, many, label="64 features, base 10,000")
    plt.legend(loc="upper right", ncols=2)
    plt.gca().set(xlabel="distance", ylabel="score", ylim=(-1.1, 1.4))

# %% [markdown] evidence="exact"
# **Verdict: still relative, and blind beyond six words.** With one speed, distances 0, 6.3, 12.6, … look alike, however many features there are. The speeds have to differ: that is what the index of $\theta_i$ is for.

# %% [markdown]
# ### Extension: step 5, all planes at once
#
# A vector of $D$ numbers is cut into pairs of neighbors, $(x_0, x_1), (x_2, x_3), \dots$ Pair $i$ turns by $m\,\theta_i$. As one matrix: 2×2 blocks along the diagonal, zeros elsewhere.

# %% [markdown] statement="rope.rope_matrix"
# Build this matrix for one place, with your `rope_frequencies` and `rotation_matrix_2d`. `torch.block_diag(*blocks)` sets blocks along a diagonal. The result is float32.

# %% exercise="rope.rope_matrix"
def rope_matrix(position, D, base=10000.0):
    """The (D, D) matrix that RoPE applies at one place, interleaved pairs.

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
# 2. Angles: place times frequencies, $(D/2,)$. Blocks: `rotation_matrix_2d` of them, $(D/2, 2, 2)$. Then set the blocks along the diagonal.
# 3. `torch.block_diag(*rotation_matrix_2d(position * …))`.

# %% [markdown] worth="rope.rope_matrix"
# For $D = 128$ the matrix has 16,384 entries, and at most 256 of them are not zero. Multiplying by all of it does 64 times the work.

# %% [markdown]
# The lift needs no new proof: the score is the sum over pairs, and each pair depends on the distance alone. Your instrument agrees:

# %%
relative_gap(torch.stack([rope_matrix(p, 16) for p in range(40)]))

# %% [markdown]
# ## 4. RoPE as a function
#
# A vector of $D$ numbers is cut into pairs of neighbors, $(x_0, x_1), (x_2, x_3), \dots$ The score is a sum over pairs, and each of them sees the distance alone. Per pair there are four products:
#
# $$x'_{2i} = x_{2i}\cos\alpha_i - x_{2i+1}\sin\alpha_i,\qquad x'_{2i+1} = x_{2i}\sin\alpha_i + x_{2i+1}\cos\alpha_i$$
#
# with $\alpha_i = m\,\theta_i$. Queries and keys come as $(B, H, T, D)$, the places as `position_ids`.

# %% [markdown]
# Worked example: the angles. Two texts in a batch stand at different places: one was padded on the left, one goes on from word 7. `None` adds an axis, so that $(B, T)$ and $(D/2,)$ give $(B, T, D/2)$:

# %%
ids = torch.tensor([[0, 0, 1, 2], [7, 8, 9, 10]])  # (B, T)
angles = ids[..., None] * rope_frequencies(6)  # (B, T, D/2)
angles.shape, angles[1, 0]

# %% [markdown]
# One more axis is needed for the heads: `angles.unsqueeze(1)` has shape $(B, 1, T, D/2)$ and fits $(B, H, T, D/2)$. Places of shape $(T,)$ serve all texts, and need no such axis.
#
# Half of the features, `x[..., 0::2]`, are the first members of the pairs; `x[..., 1::2]` are the second.

# %% [markdown] statement="rope.apply_rope"
# Write RoPE. Pair $i$ is the neighbors $(2i, 2i+1)$, places count from 0, `position_ids` may have offsets and gaps.
#
# - Compute angles, cosines and sines in float32 (float64 for float64 inputs), whatever the input.
# - Return the dtype of `x`; gradients must flow to `x`.
# - An odd $D$ raises `ValueError` (your `rope_frequencies` does).

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
# The angles depend on the place and the pair alone. So models compute the tables of cosines and sines once per pass, and all layers and heads, queries and keys, share them.

# %% [markdown]
# ### See it turn
#
# One dial per pair, from your `apply_rope`. Press **Step both +1**: all hands move and the score stands still. The heatmap should be constant along its diagonals; three numbers say by how much it fails. Try a wrong sign in your function.

# %%
RopeExplorer(apply_rope)

# %% [markdown]
# ### Claim on trial: the dtype stays
#
# A page of notes applies RoPE to float16 queries, with tables that come out as float32, and returns the product as it is. What is its dtype?

# %%
tables = torch.outer(torch.arange(4.0), rope_frequencies(8)).cos()
half = torch.randn(1, 1, 4, 4, dtype=torch.float16)
(half * tables).dtype, apply_rope(half, torch.arange(4)).dtype

# %% [markdown] evidence="exact"
# **Verdict: it does not stay.** float16 × float32 is float32: memory doubles, and the product with float16 values raises an error. The tables *should* be float32; the result must be cast back.
#
# Why not bfloat16 tables? The angle of pair 0 is the place itself. This is what bfloat16 makes of it, in radians:

# %%
[(p, torch.tensor(p).bfloat16().item()) for p in (100, 301, 1027, 4099)]

# %% [markdown]
# ### Extension: claim on trial, the absolute place
#
# > *"RoPE gives both: the direction of a vector encodes the absolute position, the angle between two encodes the relative one."*
#
# Can attention read the absolute place? Move a whole text on by 1,000 words:

# %%
g = torch.Generator().manual_seed(0)
Q, K, V = torch.randn(3, 1, 2, 6, 16, dtype=torch.float64, generator=g)
look = lambda ids: (apply_rope(Q, ids) @ apply_rope(K, ids).mT / 4).softmax(-1) @ V
(look(torch.arange(6)) - look(torch.arange(6) + 1000)).abs().max()

# %% [markdown] evidence="exact"
# **Verdict: true of the vector, not of what attention returns.** The turned vector differs at every place. But it is used only in products, and the values $V$ are not turned: the output is the same up to rounding. What a model learns about absolute places comes from elsewhere, for example from the causal mask.

# %% [markdown]
# ## 5. The layout of LLaMA code
#
# Much code pairs feature $i$ with feature $i + D/2$, first half with second half. Then one slice and one minus sign do the work for all pairs at once:
#
# $$x' = x\cdot\cos + \text{rotate\_half}(x)\cdot\sin$$
#
# where `rotate_half` is a quarter turn of every pair: $(x_1, x_2) \mapsto (-x_2, x_1)$.

# %% [markdown]
# Worked example. A turn is a mix of "stay" and "quarter turn": for $(2, 1)$ and 30°, $(2, 1)\cdot 0.866 + (-1, 2)\cdot 0.5$ gives what the matrix gave in section 1.

# %%
torch.tensor([2.0, 1.0]) * phi.cos() + torch.tensor([-1.0, 2.0]) * phi.sin()

# %% [markdown] statement="rope.rotate_half"
# Write the quarter turn for half-split vectors: with $x_1$ the first half of the last axis and $x_2$ the second, return $[-x_2, x_1]$. Raise `ValueError` when the last axis is odd.

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
# 2. `x.chunk(2, dim=-1)` gives the halves. They change places, and one gets a minus sign.
# 3. `torch.cat([-x2, x1], dim=-1)`, after the check.

# %% [markdown] worth="rope.rotate_half"
# Two quarter turns make a half turn: `rotate_half(rotate_half(x))` is `-x`, as $i^2 = -1$. It holds exactly, since numbers only move and change sign; nothing is rounded.

# %% [markdown]
# ### Claim on trial: a missing exchange
#
# > `return torch.cat([-x_f, x_s], dim=-1)` with `x_f` the first half and `x_s` the second (from a page of notes, as `rotate_half`)
#
# Shapes and dtypes fit, and it runs. Does it turn? Lengths of random vectors, and what a shift by 50 places does to scores:

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
# **Verdict: wrong.** Lengths change with the place, and scores change when the text is shifted: it is no rotation. Yet a model trained with it looks fine (see the extension). So this course checks *properties*, not shapes and losses alone.

# %% [markdown]
# ### Extension: would training have warned you?
#
# The memory game of section 8, recorded: two models that differ in the quarter turn alone, {{length.seeds:word}} seeds each. They were trained on rows of {{length.trained}}, up to the black line.

# %%
pair = ["RoPE", "RoPE, wrong half"]
ends = {name: [f"{run['back'][-1]:.2f}" for run in recorded("length")["schemes"][name]] for name in pair}
with described("One line per seed. Up to place 64 every line of both is at 1; beyond, all fall. Color three places "
               "back at place 256: {ends}.", ends=ends):
    length.draw({}, recorded("length"), pair)

# %% [markdown] evidence="recorded: length, control: trained length"
# **It would not.** At place {{length.trained}} the wrong model answers at least {{length.rope_wrong_half.back.trained.min:.3f}} of *back* and {{length.rope_wrong_half.twin.trained.min:.3f}} of *twin* in every run. Beyond, it ends at {{length.rope_wrong_half.back.end.min:.2f}} to {{length.rope_wrong_half.back.end.max:.2f}} for *back*, the right one at {{length.rope.back.end.min:.2f}} to {{length.rope.back.end.max:.2f}}: a mean difference of {{length.wrong_half_minus_right.back.mean:+.2f}} ± {{length.wrong_half_minus_right.back.error:.2f}} (standard error). Trained on {{length.shorter.trained}}, the wrong one ends *higher* in *back*: {{length.shorter.wrong_half_minus_right.back.mean:+.2f}} ± {{length.shorter.wrong_half_minus_right.back.error:.2f}}. So on longer rows *back* does not tell which one is wrong either.

# %% [markdown]
# ### RoPE from quarter turns

# %% [markdown] statement="rope.apply_rope_half"
# Write RoPE in the half-split layout with your `rotate_half`. Pair $i$ is features $(i, i + D/2)$ and turns by `position * theta_i`, so both halves need the same angles: `torch.cat([angles, angles], dim=-1)`.
#
# Everything else is as in `apply_rope`: places, precision of the angles, dtype, gradients.

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
# Both layouts live on. The rotary kernel that comes with FlashAttention has a switch, `interleaved`: on, it pairs neighbors as GPT-J does; off, the default, it pairs halves as GPT-NeoX does.

# %% [markdown]
# **Which layout do weights belong to?** Meta's LLaMA code pairs neighbors, Hugging Face's pairs halves. The shapes are the same, so weights of the one run in code of the other, and answer badly. The script that converts LLaMA's checkpoints reorders the rows of $W_Q$ and $W_K$ once. The extension finds that order.

# %% [markdown]
# ### Extension: claim on trial, other pairs
#
# > *"Pairs that are not neighbors can be turned as well, but that has no benefit; it even destroys the continuous design of the frequencies."* (from a page of notes)
#
# The two functions give different vectors for the same input. But a model learns its features: what counts is whether they become equal after *renaming* features. Which renaming?

# %% [markdown] statement="rope.interleaved_to_half_permutation"
# Find the permutation $p$ such that `x[..., p]` is the half-split form of an interleaved `x`: first members of all pairs first, then all second members.
#
# `p` has shape `(D,)`, int64; its entry $j$ says which interleaved feature comes to place $j$. An odd $D$ raises `ValueError`.

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
# Card players know this as undoing a perfect riffle shuffle. For $D = 2^k$ it rotates the $k$ bits of an index, so after $k$ rounds every feature is home: 7 rounds for $D = 128$.

# %%
p, ids = interleaved_to_half_permutation(16), torch.tensor([3, 4, 9, 40, 41, 1000])
same_vectors = apply_rope_half(Q[..., p], ids) - apply_rope(Q, ids)[..., p]
scores = lambda rope, Q, K: rope(Q, ids) @ rope(K, ids).mT
same_scores = scores(apply_rope_half, Q[..., p], K[..., p]) - scores(apply_rope, Q, K)
same_vectors.abs().max().item(), same_scores.abs().max().item()

# %% [markdown] evidence="exact"
# **Verdict: nothing is destroyed.** After one fixed permutation the two layouts agree to rounding, frequencies included. The permutation can be moved into the rows of $W_Q$ and $W_K$. (A benefit there is: one slice and one sign for all pairs.)

# %% [markdown]
# ## 6. Extension: one complex product
#
# Meta's LLaMA code uses a third form: neighbors become complex numbers, and a table of $e^{i m\theta_j}$ multiplies them all at once. You have the parts.

# %% [markdown] statement="rope.apply_rope_complex"
# Write RoPE (interleaved) by complex multiplication. There is no good 16-bit complex type: widen float16 and bfloat16 to float32 first, cast back at the end. Otherwise it is as `apply_rope`.
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
# In `complex64` the table of $e^{im\theta_j}$ takes 8 bytes per place and pair: 2 MiB for 4,096 places and $D = 128$, once for all layers.

# %%
ids = torch.tensor([[5, 6, 9, 10, 50, 51]])
three = apply_rope(Q, ids), apply_rope_complex(Q, ids), apply_rope_half(Q[..., p], ids)[..., p.argsort()]
[(three[0] - other).abs().max().item() for other in three[1:]]

# %% [markdown]
# ## 7. Extension: partial RoPE, and none
#
# GPT-J turns 64 of 256 features, GPT-NeoX a quarter of each head. The rest is never turned: there a query can look for content without its place getting in the way.
#
# Numbers: a head with $D = 4$, `rotary_dim` 2, holds $(1, 0, 5, 6)$. At place 1 it becomes $(0.54, 0.84, 5, 6)$.

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
# Some models leave RoPE out in some layers (NoPE): in Command A every fourth layer has none. Without positions attention cannot see order; so how can that work?
#
# Shuffle all words but the last, and look at what the last one gets, after one causal layer and after two:

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
# One layer sees a bag of words. In a second layer the causal mask gives order away: each word has seen another set of predecessors ([Haviv et al. 2022](https://arxiv.org/abs/2203.16634), [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466)). Beside RoPE layers, NoPE layers can specialize on content at any distance. Section 8 plays a game without positions, too.

# %% [markdown]
# ## 8. Longer than trained
#
# A model was trained on 64 words, $D = 32$, base 10,000. How far has each clock turned in that time, and where is it at word 256?

# %%
turns = 64 / wavelengths(32)
with described("Turns of 16 pairs within 64 and 256 places: five pairs pass one full turn in training, "
               "eleven do not."):
    plt.semilogy(turns, "o-", label="after 64 places")
    plt.semilogy(4 * turns, "s--", label="after 256 places")
    plt.axhline(1, color="black", linewidth=1)
    plt.legend(), plt.gca().set(xlabel="pair i", ylabel="turns")

# %% [markdown]
# The first pairs have been round the dial: at word 256 their hands point in known directions. The slow ones reach a part of the dial that training never showed. Does that matter?
#
# A memory game: {{length.trained}} cards in a row, 32 kinds, each twice, in random colors. Reading from left to right, a model with one layer and two heads answers at each card:
#
# - **twin**: this kind was here before, in which color? (content, any distance)
# - **back**: which color had the card three places back? (an exact place, close by)

# %% [markdown]
# Guessing gives 1/8. The recorded models were trained for {{length.steps:,}} steps on rows of {{length.trained}} and tested on rows of {{length.tested}}, with {{length.seeds:word}} seeds each.
#
# ### Claims on trial: extrapolation
#
# > *"Natural extrapolation: the turn is defined for any $m$, so very long texts are supported."* The same page, eight lines later: *"Beyond the trained length the angles are outside of what was trained, which may cost quality; scaling mitigates it."*
#
# > *"Sinusoidal positions support extrapolation."*

# %%
runs, names = recorded("length")["schemes"], ["RoPE", "sinusoidal"]
at_the_end = lambda names: {n: [f"{q} {run[q][-1]:.2f}" for run in runs[n] for q in ("twin", "back")] for n in names}
with described("One line per seed. Up to place 64 all are near 1; then all fall, by place 256 to {ends}.",
               ends=at_the_end(names)):
    length.draw({}, recorded("length"), names)

# %% [markdown] evidence="recorded: length, control: trained length + cited: 2108.12409"
# **Verdict: defined is not the same as working; the warning was right.** Both schemes answer both questions at place {{length.trained}} in {{length.rope.back.trained.right}} of {{length.rope.of}} runs. At {{length.tested}}, RoPE has {{length.rope.twin.end.mean:.2f}} of the twins and {{length.rope.back.end.min:.2f}} to {{length.rope.back.end.max:.2f}} of *back*, the sinusoid {{length.sinusoidal.twin.end.mean:.2f}} and {{length.sinusoidal.back.end.mean:.2f}}.
#
# It follows the trained length: after rows of {{length.shorter.trained}}, RoPE is down to {{length.shorter.rope.twin.end.mean:.2f}} and {{length.shorter.rope.back.end.mean:.2f}} at {{length.shorter.tested}}. [Press et al.](https://arxiv.org/abs/2108.12409) plot how the perplexity of sinusoidal and rotary language models rises past the trained length.

# %% [markdown]
# ### Bring the hands back
#
# Three ways, for $s = 4$ times the length:
#
# - **Position interpolation** ([Chen et al. 2023](https://arxiv.org/abs/2306.15595)): squeeze the places, $m/s$.
# - **NTK-aware**: enlarge the base to $\text{base}\cdot s^{D/(D-2)}$. The slowest pair then turns exactly $s$ times slower, the fastest as before.
# - **Dynamic NTK**: the same, with $s = \text{length now} / \text{length trained}$, and no change up to the trained length.
#
# Numbers: base 100, $s = 4$, $D = 4$ gives $100\cdot 4^{4/2} = 1600$.

# %% [markdown] statement="rope.stretch"
# Write the three.
#
# - `position_interpolation(position_ids, s)`: float32 places, same shape.
# - `ntk_base(base, s, D)`: the enlarged base, a float.
# - `dynamic_ntk_base(base, D, seq_len, max_position)`: `max_position` is the trained length.

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
    """ntk_base for a text of seq_len places in a model trained on max_position: a float."""
    ### BEGIN SOLUTION
    return ntk_base(base, max(seq_len, max_position) / max_position, D)
    ### END SOLUTION

# %% [markdown] hints="rope.stretch"
# 1. Where does the exponent come from? The slowest pair has $\theta = \text{base}^{-(D-2)/D}$. By what must the base be multiplied so that this becomes $s$ times smaller?
# 2. Divide (no rounding); multiply the base by a power of $s$; for the dynamic form $s$ is never below 1.
# 3. `base * s ** (D / (D - 2))`, and `s = max(seq_len, max_position) / max_position`.

# %% [markdown] worth="rope.stretch"
# NTK-aware scaling was first published as a post on Reddit, in 2023, which the YaRN paper ([2309.00071](https://arxiv.org/abs/2309.00071)) cites. *NTK* is the neural tangent kernel, a theory of how wide networks learn.

# %%
slower = rope_frequencies(32, ntk_base(10000.0, 4, 32)) / rope_frequencies(32)
ntk_base(10000.0, 8, 128), slower[[0, -1]]

# %%
predict("rope.p2", "PI squeezes all places by 4, without any more training. On rows of 256, what does it do?",
        ["rescues both questions", "rescues twin, ruins back", "rescues back, ruins twin", "rescues neither question"])

# %%
pi = runs["RoPE + PI"]

# %%
reveal("rope.p2",
       lambda: f"at place 256: twin {min(run['twin'][-1] for run in pi):.2f} or more, "
               f"back {max(run['back'][-1] for run in pi):.2f} or less, in {len(pi)} runs (recorded)",
       "Far content is in known territory again. But three places back is now 0.75 of a step, "
       "which no head has learned.",
       answer="rescues twin, ruins back")

# %% [markdown]
# The **same trained models**, read with other angles: nothing was trained again. The last line is a simple baseline: plain RoPE, but each card sees only the {{length.trained}} cards up to itself.

# %%
names = ["RoPE + PI", "RoPE + NTK", "RoPE + window of 64"]
with described("One line per seed. Share of right answers at place 256: {ends}.", ends=at_the_end(names)):
    length.draw({}, recorded("length"), names)

# %% [markdown] evidence="recorded: length, control: trained length"
# **NTK finds more twins than plain RoPE** at four times the trained length: {{length.ntk_minus_rope.twin.mean:+.2f}} ± {{length.ntk_minus_rope.twin.error:.2f}} (standard error, {{length.ntk_minus_rope.twin.pairs}} pairs), and {{length.shorter.ntk_minus_rope.twin.mean:+.2f}} ± {{length.shorter.ntk_minus_rope.twin.error:.2f}} after training on {{length.shorter.trained}}. *Back*, two more comparisons: {{length.ntk_minus_rope.back.mean:+.2f}} ± {{length.ntk_minus_rope.back.error:.2f}} and {{length.shorter.ntk_minus_rope.back.mean:+.2f}} ± {{length.shorter.ntk_minus_rope.back.error:.2f}}. At place 256 PI has *back* at chance in all runs.
#
# PI is meant to be followed by some training. Its authors report that 1,000 steps repair a LLaMA; {{length.tuning_steps}} steps on rows of {{length.tested}} here left *back* at {{length.rope_pi_tuned.back.end.max:.2f}} or less.

# %%
show_large("length")
where(recorded("length"))

# %% [markdown]
# ### Extension: claim on trial, a strong baseline
#
# > *"Local attention is a super-strong baseline: the data look as in training. But it does badly when something important lies outside of the mask."*
#
# The window after training on {{length.trained}} places, and on {{length.shorter.trained}}; each reads rows four times as long:

# %%
shorter = recorded("length")["shorter"]["RoPE + window of 32"]
for width, trained in ((64, runs["RoPE + window of 64"]), (32, shorter)):
    ends = {ask: [run[ask][-1] for run in trained] for ask in ("back", "twin")}
    print(f"window of {width}: " + ", ".join(f"{ask} {min(v):.2f} … {max(v):.2f}" for ask, v in ends.items()))

# %% [markdown] evidence="recorded: length, control: trained length"
# **Verdict: right on both counts.** The window answers *back* at every length (at least {{length.rope_window_of_64.back.anywhere.min:.2f}}), without any scaling, and loses the twins that lie more than {{length.trained}} places back: {{length.rope_window_of_64.twin.end.mean:.2f}} at the end. Trained on {{length.shorter.trained}}, with a window of as many: {{length.shorter.rope_window_of_32.back.anywhere.min:.2f}} and {{length.shorter.rope_window_of_32.twin.end.mean:.2f}}.

# %% [markdown]
# ## 9. Extension: YaRN
#
# PI slows *every* pair down, also those that had been all round: neighbors are then a quarter of a step apart, which the model never saw.
#
# YaRN ([Peng et al. 2023](https://arxiv.org/abs/2309.00071)) decides by the number of turns within the trained length $L$: from 32 turns on keep the pair, up to 1 turn squeeze it, and between them a ramp.

# %% [markdown]
# Worked example: which pair makes $r$ turns within $L$? Solve $L\,\theta_i = 2\pi r$ for $i$:
#
# $$i(r) = \frac{D\,\ln\bigl(L/(2\pi r)\bigr)}{2\ln \text{base}}$$
#
# For $D = 8$, base 10,000 and $L = 4096$:

# %%
[8 * math.log(4096 / (2 * math.pi * r)) / (2 * math.log(10000)) for r in (32, 1)]

# %% [markdown]
# So 32 turns happen between pairs 1 and 2, one turn between pairs 2 and 3. Rounded outwards: low = 1, high = 3. The ramp is 0 at pair 1 and 1 at pair 3, so for the four pairs it is $0, 0, \tfrac12, 1$.

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
# 1. The worked example holds the formula for $i(r)$. Make it a small function inside yours.
# 2. `math.floor` and `max` for low, `math.ceil` and `min` for high, then one line with `torch.arange(D // 2)` and `clamp`.
# 3. `return ((torch.arange(D // 2) - low) / (high - low)).clamp(0, 1)`.

# %% [markdown] worth="rope.yarn_ramp"
# The paper writes the ramp as linear in the number of turns; the released code makes it linear in the pair's index. Turns fall geometrically with the index, so the two differ between the ends.

# %% [markdown] statement="rope.yarn_frequencies"
# Mix: each pair gets $\theta_i\,(1 - \text{ramp}_i) + \dfrac{\theta_i}{s}\,\text{ramp}_i$, float32.
#
# Longer texts also spread attention over more words. YaRN sharpens it: scores are divided by a temperature $t < 1$, $q^\top k / (t\sqrt D)$, with $\sqrt{1/t} = 0.1\ln s + 1$. Code multiplies queries *and* keys by that root. `yarn_temperature(s)` returns it, a float: $\sqrt{1/t}$, not $t$.

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
# $0.1\ln s + 1$ is a fit, not a derivation: the authors took what gave LLaMA models the lowest perplexity ([2309.00071](https://arxiv.org/abs/2309.00071)). For $s = 4$ it is 1.139, so scores grow by $1/t = 1.30$ and $t$ is 0.77.

# %%
slowed = lambda frequencies: rope_frequencies(128) / frequencies
with described("Slowing factor per pair for s = 8: PI is 8 everywhere, NTK rises from 1 to 8 over all pairs, "
               "YaRN is 1 up to pair 16 and 8 from 41 on."):
    plt.plot(torch.full((64,), 8.0), label="PI")
    plt.plot(slowed(rope_frequencies(128, ntk_base(10000.0, 8, 128))), label="NTK-aware")
    plt.plot(slowed(yarn_frequencies(128, 10000.0, 8, 2048)), label="YaRN, trained on 2,048")
    plt.legend(), plt.gca().set(xlabel="pair i", ylabel="turns slower by")

# %% [markdown] statement="rope.apply_scaled_rope"
# One function for all of them: RoPE (interleaved) with frequencies handed in, places that may be fractions, and a factor on the result.
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
# 3. `cos, sin = angles.cos() * temperature, angles.sin() * …`; nothing may round the places to whole numbers.

# %% [markdown] worth="rope.apply_scaled_rope"
# Hugging Face's LLaMA code does the same: `rope_type` picks the frequencies, and `attention_scaling` multiplies cosine and sine. The attention kernel never knows which scheme is in use.

# %% [markdown] evidence="recorded: length, control: trained length"
# **In the game of section 8 YaRN rescues both questions, if the training was long enough.** Trained on {{length.trained}}, the same weights as plain RoPE's have both at place {{length.tested}} in {{length.rope_yarn.back.end.right}} of {{length.rope_yarn.of}} runs. Trained on {{length.shorter.trained}} and read at {{length.shorter.tested}}, all find the twins ({{length.shorter.rope_yarn.twin.end.min:.2f}} at least), but *back* lies between {{length.shorter.rope_yarn.back.end.min:.2f}} and {{length.shorter.rope_yarn.back.end.max:.2f}}.
#
# The ramp reaches 1 at pair 5 after 64 places and at pair 3 after 32: more of the fast pairs, which tell neighbors apart, are squeezed.

# %% [markdown]
# ## 10. Extension: your own run
#
# The game of section 8, live. First the measure, then a model with your RoPE.

# %% [markdown] statement="rope.accuracy_by_position"
# Write the measurement: the share of right answers in each stretch of `width` places, over the whole batch. A target of −1 means that nothing was asked: it counts neither as right nor as wrong.
#
# The answer is the class with the largest logit. $T$ is a multiple of `width`.

# %% exercise="rope.accuracy_by_position"
def accuracy_by_position(logits, targets, width):
    """Accuracy along the row.

    Args:
        logits: (B, T, C) floating tensor of any precision.
        targets: (B, T) int64, -1 where nothing is asked; every stretch has at least one question.
        width: places per stretch, divides T.

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
# One mean over a long row hides where it breaks: 64 perfect places and 192 at chance, 1/8, average to 0.34. A model that is equally poor everywhere can have that mean, too.

# %% [markdown]
# Now your RoPE goes into a model: {{length.trained}} cards, a fifth of the recorded steps.

# %%
rope = length.Scheme(turn=apply_rope)
model, seconds = length.train(rope)
live = {"RoPE": length.test(model, accuracy_by_position)}
f"{seconds:.0f} s; twin {live['RoPE']['twin'][3]:.2f}, back {live['RoPE']['back'][3]:.2f} near place 64"

# %% [markdown]
# The same trained model, with other angles:

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
with described("Live curves in color over recorded gray bands. Twin and back at place 256: {ends}.", ends=ends):
    length.draw(live, recorded("length"), list(live))

# %% [markdown]
# Gray bands: recorded runs, from the worst to the best of {{length.seeds:word}} seeds. Color: your run just now. It is shorter, and its numbers differ a little from one processor to another.
#
# How much of that does YaRN owe to its temperature? The same model with YaRN's frequencies alone:

# %%
alone = length.test(model, accuracy_by_position,
                    length.Scheme(turn=lambda x, ids: apply_scaled_rope(x, ids, yarn)))
{"with the temperature": ends["RoPE + YaRN"], "without": [round(alone[question][-1], 2) for question in ("twin", "back")]}

# %% [markdown]
# So this game cannot tell what the temperature is good for. It was fitted on the perplexities of LLaMA models, which have to do with much longer texts than 256 places.
#
# Two more models. ALiBi (unit 05) lowers the score by slope × distance; NoPE has nothing.

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
with described("Live curves in color over recorded gray bands. Twin and back at place 256: {ends}.", ends=ends):
    length.draw(live, recorded("length"), names)

# %% [markdown]
# In the recorded runs, at this one trained length, NoPE and ALiBi find the twin everywhere ({{length.no_positions.twin.anywhere.min:.2f}} and {{length.alibi.twin.anywhere.min:.2f}} at worst). Neither points at exactly three back: one layer of ALiBi with two heads answers {{length.alibi.back.trained.mean:.2f}} at place {{length.trained}}. The bias of one head only ever falls with distance, so it takes several heads to single out a distance.

# %% [markdown]
# ## 11. Extension: who else reads on?
#
# Unit 05's relative schemes played the same game, recorded at the same size. Two tables end at the trained length and cannot be run beyond.

# %%
table = recorded("length")["schemes"]
mean = lambda runs, question, stretch: sum(r[question][stretch] for r in runs) / len(runs)
print(f"{'':22}twin at 64  at 256   back at 64  at 256")
for name, found in table.items():
    last = [f"{mean(found, q, -1):9.2f}" if len(found[0][q]) > 4 else "     none" for q in ("twin", "back")]
    print(f"{name:22}{mean(found, 'twin', 3):8.2f}{last[0]}{mean(found, 'back', 3):12.2f}{last[1]}")

# %% [markdown]
# Shaw and DeBERTa stand at {{length.shaw.twin.end.mean:.2f}} and {{length.deberta.back.end.mean:.2f}} without any help. Transformer-XL holds *back*, but has the twins in {{length.transformer_xl.twin.trained.right:word}} of {{length.transformer_xl.of}} runs only. Why?

# %% [markdown]
# **Shaw and DeBERTa.** Their tables end at distance 16; everything farther shares the last row, which training knows well. Is that the reason? Recorded again with a row for *each* distance up to 256. Rows from {{length.trained}} on never occur in training. Then those rows drawn anew, as large as the trained ones:

# %%
for name, found in recorded("length")["ablations"].items():
    sizes = ", ".join(f"{run['far']:.2f}" for run in found if "far" in run)
    lowest = {question: min(run[question][-1] for run in found) for question in ("twin", "back")}
    print(f"{name:24} lowest of {len(found)} runs at 256: {lowest}" + f"; size of far rows {sizes}" * bool(sizes))

# %% [markdown] evidence="recorded: length, control: clipping distance + argued"
# **It is not the clip.** With a row for each distance, *back* is right (95 % or more) at place {{length.tested}} in {{length.ablations.shaw_every_distance.back.end.right}} of {{length.ablations.shaw_every_distance.of}} runs of Shaw and {{length.ablations.deberta_every_distance.back.end.right}} of {{length.ablations.deberta_every_distance.of}} of DeBERTa; with the far rows drawn anew, in {{length.ablations.shaw_far_rows_drawn.back.end.right}} and {{length.ablations.deberta_far_rows_drawn.back.end.right}}. So is *twin*.
#
# A likely reason: such rows are *added*, and $q^\top k$ stays what it was; RoPE turns $q$ and $k$. Partial RoPE, which leaves half of the features alone, fits for the twins: {{length.partial_rope.twin.end.mean:.2f}} of the twins at {{length.tested}}, RoPE {{length.rope.twin.end.mean:.2f}}.

# %% [markdown] evidence="recorded: length, control: steps"
# **Transformer-XL had not learned the twin.** It misses them at place {{length.trained}} already, so length is not its problem. With {{length.longer_steps:,}} steps in place of {{length.steps:,}} it has them there in {{length.ablations.transformer_xl_longer.twin.trained.right}} of {{length.ablations.transformer_xl_longer.of}} runs, and at {{length.tested}} too ({{length.ablations.transformer_xl_longer.twin.end.min:.2f}} at least).

# %% [markdown]
# ## Your progress

# %%
progress("06-rope")

# %% [markdown] written="question"
# You run weights made for the half-split layout with your interleaved `apply_rope`. All shapes fit, and there is no error. Does this test find the mistake: add 1,000 to all places, the scores must stay? Does a text of one token? Explain both, and describe a test that finds it.
#
# - which property the shift test checks, and whether the wrong layout has it
# - the only distance in a text of one token
# - what the test compares, and on which text

# %% [markdown] written="answer" points=3
# Neither finds it. Interleaved RoPE is a rotation whatever the weights are: scores depend on distances alone, so a shift of all places changes nothing. In a text of one token the only distance is 0, where the two turns cancel, so its scores are right in either layout. Wrong are the scores at other distances: features that were trained as partners are turned by different angles. A test has to compare scores or outputs with those of the code that the weights were made for, on a text of two tokens or more. The rows of $W_Q$ and $W_K$, reordered once, must make the two agree.
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
quiz("Query at place 7, key at place 12. Which turn is left between q and k in the score?",
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
quiz("Why is the slowest pair so slow, 54,410 places for a turn at D = 128?",
     {"to save computation": (False, "Every pair costs the same."),
      "so that far distances stay distinct": (True, "A pair that has come round shows two distances alike."),
      "by accident": (False, "The base 10,000 sets it, and longer contexts use larger bases.")})

# %%
quiz("Without more training, what does position interpolation spoil most?",
     {"content far away": (False, "That is what it rescues."),
      "exact places close by": (True, "One place becomes 1/s of a step, which the fast pairs never saw."),
      "the lengths of vectors": (False, "It is still a rotation.")})

# %%
quiz("What does RoPE change when a whole text is shifted by 1,000 places?",
     {"all scores": (False, "Scores see distances alone."),
      "nothing that comes out": (True, "Values are not turned, scores are relative."),
      "only far scores": (False, "Every score depends on m − n alone.")})

# %% [markdown]
# ## Where this lives in real models
#
# - **LLaMA, Mistral, Qwen, Gemma, DeepSeek:** RoPE in every layer or most. Llama 3 uses base 500,000 ([2407.21783](https://arxiv.org/abs/2407.21783)).
# - **GPT-J, GPT-NeoX** ([2204.06745](https://arxiv.org/abs/2204.06745)): partial RoPE.
# - **Code Llama** ([2308.12950](https://arxiv.org/abs/2308.12950)): base 1,000,000 after tuning.
# - **PaLM** ([2204.02311](https://arxiv.org/abs/2204.02311)): RoPE too, whatever some notes say.
#
# The words are in order now. Next, **07-masks-and-objectives**: who may look at whom, and what a model learns to predict. Unit 08 uses your `position_ids` for a cache.
