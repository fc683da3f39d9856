"""Wrong answers to unit 10."""

WRONG_ANSWERS = [
    (
        "clamped for safety",
        "stability.logsumexp",
        """
def logsumexp(x, dim=-1):
    return torch.log(torch.exp(x.clamp(max=80.0)).sum(dim=dim))
""",
        ["cut off before exp"],
    ),
    (
        "calls itself",
        "stability.soft_cap",
        """
def soft_cap(x, cap):
    if cap <= 0:
        raise ValueError("cap")
    return soft_cap(x / cap, 1.0) * cap

def soft_capped_weights(scores, cap, mask=None):
    return soft_cap(scores, cap).softmax(-1)
""",
        ["calls itself without end"],
    ),
    (
        "mask before the cap",
        "stability.soft_cap",
        """
def soft_cap(x, cap):
    if cap <= 0:
        raise ValueError("cap")
    return cap * torch.tanh(x / cap)

def soft_capped_weights(scores, cap, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(soft_cap(scores, cap), dim=-1)
""",
        ["mask"],
    ),
    (
        "a list where a number is asked for",
        "stability.spike",
        """
def spike_height(losses):
    return [loss - min(losses[:i + 1]) for i, loss in enumerate(losses)]
""",
        ["Return one number"],
    ),
    (
        "the smallest entry taken out",
        "stability.logsumexp",
        """
def logsumexp(x, dim=-1):
    low = x.min(dim, keepdim=True).values
    low = torch.where(low.isinf(), torch.zeros_like(low), low)
    return low.squeeze(dim) + (x - low).exp().sum(dim).log()
""",
        ["Take out the largest"],
    ),
    (
        "Python numbers cut the gradient",
        "stability.z_loss",
        """
def z_loss(logits, coefficient=1e-4):
    rows = logits.reshape(-1, logits.shape[-1])
    total = sum(float(logsumexp(row)) ** 2 for row in rows)
    return torch.tensor(coefficient * total / len(rows), dtype=logits.dtype)

def z_loss_gradient(logits, coefficient=1e-4):
    log_z = logsumexp(logits).unsqueeze(-1)
    return 2 * coefficient * log_z * torch.exp(logits - log_z) / log_z.numel()
""",
        ["cut off", "Leave out .item() and float(…)"],
    ),
    (
        "the gradient overflows",
        "stability.z_loss",
        """
def z_loss(logits, coefficient=1e-4):
    return coefficient * (logsumexp(logits) ** 2).mean()

def z_loss_gradient(logits, coefficient=1e-4):
    log_z = logsumexp(logits).unsqueeze(-1)
    e = torch.exp(logits)
    return 2 * coefficient * log_z * (e / e.sum(-1, keepdim=True)) / log_z.numel()
""",
        ["overflows for large logits"],
    ),
    (
        "gains inside the norm",
        "stability.qk_norm",
        """
def qk_norm(q, k, q_gain, k_gain, eps=1e-6):
    def normed(x, gain):
        x = x * gain
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)
    return normed(q, q_gain), normed(k, k_gain)

def qk_norm_bound(q_gain, k_gain):
    return float(len(q_gain) ** 0.5 * q_gain.abs().max() * k_gain.abs().max())
""",
        ["Normalize, then multiply"],
    ),
    (
        "negative caps allowed",
        "stability.soft_cap",
        """
def soft_cap(x, cap):
    if not cap:
        raise ValueError("cap is 0")
    return torch.tanh(x / cap) * cap

def soft_capped_weights(scores, cap, mask=None):
    scores = soft_cap(scores, cap)
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    return scores.softmax(-1)
""",
        ["A negative cap"],
    ),
    (
        "a part of the name",
        "stability.parameter_groups",
        """
def parameter_groups(shapes, embeddings, weight_decay):
    groups = [{"params": [], "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0}]
    for name, shape in shapes.items():
        table = any(word in name for word in embeddings)
        groups[table or len(shape) < 2]["params"].append(name)
    return groups
""",
        ["Names must be equal"],
    ),
    (
        "the step added",
        "stability.weight_decay",
        """
def adam_direction(gradient, m, v, step):
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
    return (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8), m, v

def adamw_step(theta, gradient, m, v, step, lr, weight_decay):
    direction, m, v = adam_direction(gradient, m, v, step)
    return theta - lr * weight_decay * theta + lr * direction, m, v

def adam_l2_step(theta, gradient, m, v, step, lr, weight_decay):
    direction, m, v = adam_direction(gradient + weight_decay * theta, m, v, step)
    return theta - lr * direction, m, v
""",
        ["goes up the slope"],
    ),
    (
        "no check below 0",
        "stability.dropout",
        """
def dropout(x, keep, p, training=True):
    if not training:
        return x
    if p > 1:
        raise ValueError("p")
    return x * keep / (1 - p) if p < 1 else torch.zeros_like(x)
""",
        ["Raise a ValueError below 0"],
    ),
    (
        "the root of the mean square",
        "stability.clip",
        """
def clip_by_global_norm(gradients, limit):
    norm = torch.cat([g.reshape(-1) for g in gradients]).pow(2).mean().sqrt()
    return [g * (limit / norm) if norm > limit else g for g in gradients], norm
""",
        ["The squares are averaged"],
    ),
    # What no fingerprint knows.
    (
        "the loop runs one too far",
        "stability.spike",
        """
def spike_height(losses):
    return max(losses[i + 1] - min(losses[:i + 1]) for i in range(len(losses)))
""",
        ["Indices run from 0 to length − 1"],
    ),
    (
        "the caller's dict is emptied",
        "stability.parameter_groups",
        """
def parameter_groups(shapes, embeddings, weight_decay):
    decay = [n for n, s in shapes.items() if len(s) >= 2 and n not in embeddings]
    for name in decay:
        shapes.pop(name)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": list(shapes), "weight_decay": 0.0}]
""",
        ["changes the dict that it was given", "work on a copy"],
    ),
    (
        "a tensor for a number",
        "stability.spike",
        """
def spike_height(losses):
    losses = torch.tensor(losses, dtype=torch.float64)
    return (losses - losses.cummin(0).values).max()
""",
        ["a tensor of shape (), expected a float", "number is right", "float(…)"],
    ),
]
