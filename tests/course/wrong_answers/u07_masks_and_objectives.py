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
        ["places go on counting in the padding", "repeats the last word's place"],
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
    (
        "keys cut anew",
        "mask.causal",
        """
def causal_attention(q, k, v):
    *lead, T, D = k.shape
    scores = torch.matmul(q, k.reshape(*lead, D, T)) / D**0.5
    scores = scores + torch.full((T, T), -math.inf, dtype=q.dtype).triu(1)
    return torch.softmax(scores, dim=-1) @ v
""",
        ["transpose(-2, -1)"],
    ),
    (
        "0 keys are none",
        "mask.rectangular",
        """
def causal_mask(T, S=None):
    S = S or T
    if T < 1 or S < T:
        raise ValueError("too few")
    return torch.arange(S) <= torch.arange(S - T, S)[:, None]
""",
        ["ask `S is None`"],
    ),
    (
        "every text for itself",
        "objective.next_token",
        """
def next_token_pairs(ids):
    if ids.shape[1] < 2:
        raise ValueError("too short")
    return ids[:, :-1], ids[:, 1:]

def next_token_loss(logits, ids, real=None):
    if real is None:
        real = torch.ones_like(ids, dtype=torch.bool)
    means = []
    for x, y, r in zip(logits, ids, real):
        counts = r[1:] & r[:-1]
        if counts.any():
            means.append(F.cross_entropy(x[:-1][counts], y[1:][counts]))
    return torch.stack(means).mean()
""",
        ["Each text is averaged on its own"],
    ),
    (
        "a number for the log",
        "objective.likelihood",
        """
def sequence_log_probability(logits, targets):
    rows = [sum(x.log_softmax(-1)[i].item() for x, i in zip(a, b)) for a, b in zip(logits, targets)]
    return torch.tensor(rows, dtype=logits.dtype)

def perplexity(losses, counts):
    if sum(counts) == 0:
        raise ValueError("no token")
    return math.exp(sum(a * n for a, n in zip(losses, counts)) / sum(counts))
""",
        ["cut off"],
    ),
    (
        "at most the rate",
        "objective.masked_lm",
        """
def select_tokens(u, special, rate=0.15):
    return torch.logical_and(u.le(rate), special.logical_not())

def mask_tokens(ids, selected, u, random_ids, mask_id):
    labels = torch.where(selected, ids, -100)
    inputs = torch.where(selected & (u < 0.9), random_ids, ids)
    return torch.where(selected & (u < 0.8), mask_id, inputs), labels
""",
        ["Below the rate means <"],
    ),
    (
        "a band, not a prefix",
        "mask.prefix_lm",
        """
def prefix_lm_mask(T, prefix):
    if prefix < 0 or prefix > T:
        raise ValueError("no such prefix")
    return torch.ones(T, T, dtype=torch.bool).tril(prefix)
""",
        ["tril with an offset"],
    ),
    (
        "document 0 is nothing",
        "objective.sentence_pairs",
        """
def nsp_pair(documents, document, sentence, replacement):
    if sentence == len(documents[document]) - 1:
        raise ValueError("no successor")
    d, s = replacement or (None, None)
    if d == document:
        raise ValueError("same document")
    if d:
        return documents[document][sentence], documents[d][s], 1
    return documents[document][sentence], documents[document][sentence + 1], 0

def sop_pair(first, second, swap):
    return (second, first, 1) if swap else (first, second, 0)
""",
        ["Document 0 never replaces"],
    ),
    (
        "ids above the first refused",
        "objective.span_corruption",
        """
def span_corruption(ids, noise, first_sentinel):
    inputs, targets, k = [], [], 0
    for i, token in enumerate(ids.tolist()):
        if noise[i] and (i == 0 or not noise[i - 1]):
            inputs.append(first_sentinel - k)
            targets.append(first_sentinel - k)
            k += 1
        (targets if noise[i] else inputs).append(token)
    if ids.max() >= first_sentinel - k:
        raise ValueError("the text holds a sentinel")
    return torch.tensor(inputs), torch.tensor(targets + [first_sentinel - k])
""",
        ["Ids above first_sentinel are refused"],
    ),
    (
        "counted, not compared",
        "objective.restore_spans",
        """
def restore_spans(inputs, targets, first_sentinel):
    spans = []
    for token in targets.tolist():
        if token == first_sentinel - len(spans):
            spans.append([])
        else:
            spans[-1].append(token)
    last = first_sentinel - len(spans) + 1
    spans.pop()
    text = []
    for token in inputs.tolist():
        if last <= token <= first_sentinel:
            if not spans:
                raise ValueError("no span is left")
            text.extend(spans.pop(0))
        else:
            text.append(token)
    if spans:
        raise ValueError("spans are left")
    return torch.tensor(text)
""",
        ["counted, but not compared"],
    ),
    (
        "turns, not blanks",
        "objective.blank_infilling",
        """
def blank_infilling(ids, spans, order, mask_id, start_id, end_id):
    if sorted(order) != list(range(len(spans))) or any(b[0] <= a[1] for a, b in zip(spans, spans[1:])):
        raise ValueError("no")
    text, tokens, places, last = ids.tolist(), [], [], 0
    for start, stop in spans:
        tokens += text[last:start]
        places.append(len(tokens))
        tokens.append(mask_id)
        last = stop
    tokens += text[last:]
    positions, within, labels = list(range(len(tokens))), [0] * len(tokens), [-100] * len(tokens)
    for turn in range(len(order)):
        k = order.index(turn)
        span = text[spans[k][0]:spans[k][1]]
        tokens += [start_id, *span]
        labels += [*span, end_id]
        positions += [places[k]] * (len(span) + 1)
        within += list(range(1, len(span) + 2))
    return tuple(torch.tensor(row) for row in (tokens, positions, within, labels))
""",
        ["the turn of each blank"],
    ),
    (
        "lengths over the batch",
        "objective.info_nce",
        """
def info_nce(queries, keys, temperature=0.07):
    if temperature <= 0:
        raise ValueError("temperature")
    q, k = F.normalize(queries, dim=0), F.normalize(keys, dim=0)
    return F.cross_entropy(q @ k.T / temperature, torch.arange(len(q)))
""",
        ["its own length"],
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
        ["no gradient flows back"],
    ),
]
