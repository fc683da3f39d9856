"""Wrong answers to unit 07."""

WRONG_ANSWERS = [
    (
        "sees one word ahead",
        "mask.causal",
        """
def causal_attention(q, k, v):
    T, D = q.shape[-2:]
    may = torch.ones(T, T).tril(1).bool()
    scores = (q @ k.transpose(-2, -1) / math.sqrt(D)).masked_fill(~may, -math.inf)
    return scores.softmax(-1) @ v
""",
        ["sees the next one"],
    ),
    (
        "counts from the first word",
        "mask.causal_padding",
        """
def causal_padding_mask(real, T=None):
    S = real.shape[1]
    return real[:, None, None, :] & causal_mask(S if T is None else T, S)

def position_ids(real):
    first = real.long().argmax(-1, keepdim=True)
    return (torch.arange(real.shape[1]) - first).clamp(min=0)
""",
        ["causal_padding_mask passes everything; the mistake is in position_ids"],
    ),
    (
        "targets not shifted",
        "objective.next_token",
        """
def next_token_pairs(ids):
    if ids.shape[1] < 2:
        raise ValueError("too short")
    return ids[:, :-1], ids[:, 1:]

def next_token_loss(logits, ids, real=None):
    nll = F.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none").view(ids.shape)
    return nll.mean() if real is None else nll[real].mean()
""",
        ["drop the last logits"],
    ),
    # What no fingerprint knows.
    (
        "detached",
        "mask.causal",
        """
def causal_attention(q, k, v):
    T, D = q.shape[-2:]
    may = torch.ones(T, T).tril().bool()
    scores = (q @ k.transpose(-2, -1) / math.sqrt(D)).masked_fill(~may, -math.inf)
    return scores.softmax(-1).detach() @ v.detach()
""",
        ["cut off from its inputs"],
    ),
]
