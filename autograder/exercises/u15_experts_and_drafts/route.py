"""Two routers: softmax before the choice, and a sigmoid with a bias that chooses but doesn't weigh."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import routing


def softmax_by_hand(logits, k):
    """Sorted exponentials over their sum."""
    exponentials = (logits - logits.amax(-1, keepdim=True)).exp()
    order = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    return exponentials.gather(-1, order) / exponentials.sum(-1, keepdim=True), order


def biased_by_rows(logits, bias, k, scale=1.0):
    """One token after the other."""
    rows, picks = [], []
    for row in logits.reshape(-1, logits.shape[-1]):
        score = 1 / (1 + torch.exp(-row))
        best = torch.argsort(score + bias, descending=True)[:k]
        rows.append(score[best] / score[best].sum() * scale)
        picks.append(best)
    shape = (*logits.shape[:-1], k)
    return torch.stack(rows).reshape(shape), torch.stack(picks).reshape(shape)


def _by_hand(g: Source) -> Program:
    scores = torch.tensor([[0.8, 0.6, 0.4]])
    return call((scores / (1 - scores)).log(), torch.tensor([0.0, 0.0, 0.5]), 2, fn="route_biased")


def _biases(g: Source, E: int) -> torch.Tensor:
    """Large enough to change the choice of most tokens."""
    return g.uniform(E, low=-0.5, high=0.5)


def _trained(g: Source) -> Program:
    program = call(g.randn(3, 5, dtype=torch.float64), 1, grad=[0])
    return program.call(
        g.randn(3, 5, dtype=torch.float64), _biases(g, 5).double(), 2, scale=1.5, fn="route_biased", grad=[0]
    )


MISTAKES = changes(
    (routing.route, routing.route_biased),
    """
softmax_after: logits.softmax(-1).topk(k, dim=-1) → logits.topk(k, dim=-1)
; return weights, chosen → return weights.softmax(-1), chosen
    In route the k weights sum to 1, as if the softmax came after the choice, and with k = 1 the router gets no
    gradient. Take the softmax over all experts first, and leave the chosen probabilities as they are.
no_softmax: logits.softmax(-1).topk → logits.topk
    route returns logits as weights. Take the softmax over all experts first.
sigmoid_first: logits.softmax(-1).topk → logits.sigmoid().topk
    route uses a sigmoid. That belongs to the other router: here it is a softmax over all experts.
over_tokens: logits.softmax(-1).topk → logits.softmax(0).topk
    The softmax runs over the first axis. Each token's probabilities sum to 1 over its experts: the last axis.
smallest: softmax(-1).topk(k, dim=-1) → softmax(-1).topk(k, dim=-1, largest=False)
    route chooses the experts with the smallest probabilities. Take the largest.
bias_weighs: scores.gather(-1, chosen) → (scores + bias).gather(-1, chosen)
    In route_biased the bias is in the weights, too. It only chooses: gather the plain scores.
bias_ignored: (scores + bias).topk → scores.topk
    In route_biased the bias changes nothing. Add it to the scores before the choice.
bias_subtracted: scores + bias → scores - bias
    The bias is subtracted. A larger bias makes an expert more likely to be chosen: add it.
bias_multiplied: (scores + bias).topk → (scores * bias).topk
    The scores are multiplied by the bias, so a bias of 0 shuts an expert out. Add the bias to the scores.
bias_inside: (scores + bias).topk → (logits + bias).sigmoid().topk
    The bias is added to the logits. Add it to the scores, after the sigmoid.
softmax_scores: logits.sigmoid() → logits.softmax(-1)
    route_biased uses a softmax. Here each expert gets a score by itself, by a sigmoid.
not_divided: scale * weights / weights.sum(-1, keepdim=True) → scale * weights
    In route_biased the weights are not divided by their sum. They sum to scale.
divided_by_all: / weights.sum(-1, keepdim=True) → / scores.sum(-1, keepdim=True)
    In route_biased the weights are divided by the sum over all experts. Divide by the sum of the chosen ones.
scale_lost: scale * weights / → weights /
    scale changes nothing. Multiply the weights by it after they were divided by their sum: before, it would cancel.
softmax_of_weights: scale * weights / weights.sum(-1, keepdim=True) → scale * weights.softmax(-1)
    The chosen scores go through a softmax. Divide them by their sum.
one_sum: weights.sum(-1, keepdim=True) → weights.sum()
    The weights of all tokens together sum to scale. Divide each token's weights by their own sum: the last axis, with
    keepdim=True.
exchanged: return weights, chosen → return chosen, weights
; scale * weights / weights.sum(-1, keepdim=True), chosen → chosen, scale * weights / weights.sum(-1, keepdim=True)
    The two results are exchanged. Return the weights first, then the experts.
detached: logits.sigmoid() → logits.detach().sigmoid()
    No gradient reaches the router from route_biased. The choice has none, but the weights must keep theirs.
detached_softmax: logits.softmax(-1).topk → logits.detach().softmax(-1).topk
    No gradient reaches the router from route. The choice has none, but the weights must keep theirs.
""",
)

EXERCISE = Exercise(
    id="experts.route",
    title="Two routers",
    points=3,
    difficulty=2,
    minutes=12,
    reference=(routing.route, routing.route_biased),
    alternatives=[(softmax_by_hand, biased_by_rows)],
    cases=[
        Case(
            "by hand",
            "probabilities 0.6, 0.3 and 0.1: experts 0 and 1 work with 0.6 and 0.3",
            lambda g: call(torch.tensor([[6.0, 3.0, 1.0]]).log(), 2),
        ),
        Case(
            "bias by hand", "scores 0.8, 0.6, 0.4, bias 0.5 for the last: experts 2 and 0, weights 1/3, 2/3", _by_hand
        ),
        Case(
            "top two",
            "two texts of three tokens, two of five experts",
            lambda g: call(g.randn(2, 3, 5, scale=1.5), 2),
        ),
        Case("top one", "a single expert for each token keeps its probability", lambda g: call(g.randn(2, 3, 6), 1)),
        Case(
            "biased",
            "nine tokens, two of seven experts, in float64; biases change the choice",
            lambda g: call(g.randn(9, 7, dtype=torch.float64), _biases(g, 7).double(), 2, fn="route_biased"),
            weight=2,
        ),
        Case(
            "biased texts",
            "two texts of four tokens, three of six experts, scale 2.5",
            lambda g: call(g.randn(2, 4, 6), _biases(g, 6), 3, scale=2.5, fn="route_biased"),
        ),
        Case("gradients", "the router learns through its weights, in float64", _trained),
    ],
    mutants=MISTAKES,
    equivalent="""
the last axis is the default
    1c6a014c70 solution, keyword: logits.softmax(-1).topk(k, dim=-1) without dim=-1
    55927be45d solution, keyword: (scores + bias).topk(k, dim=-1) without dim=-1
    9f6efb70df alternative (softmax_by_hand, biased_by_rows), keyword: logits.argsort(dim=-1, descending=True, stable=…
    78a94a0a9a alternative (softmax_by_hand, biased_by_rows), keyword: logits.argsort(dim=-1, descending=True, stable=…
what is subtracted from all logits of a row cancels in their shares
    cce2ef953d alternative (softmax_by_hand, biased_by_rows), arithmetic: logits - logits.amax(-1, keepdim=True) → log…
    4d6d1c5ca7 alternative (softmax_by_hand, biased_by_rows), operand: logits - logits.amax(-1, keepdim=True) → logits
    02cf8806b6 alternative (softmax_by_hand, biased_by_rows), argument: logits.amax(-1, keepdim=True) without its last…
    65943e105f alternative (softmax_by_hand, biased_by_rows), name: amax → amin in logits.amax(-1, keepdim=True)
no two scores are equal
    4308f18413 alternative (softmax_by_hand, biased_by_rows), flag: True → False in stable=True
""",
)
