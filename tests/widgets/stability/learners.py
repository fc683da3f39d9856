"""The functions of unit 10 as learners write them: right, and wrong in known ways."""

import math

import torch


def right_logsumexp(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    m = torch.where(m == -math.inf, torch.zeros_like(m), m)
    return (m + torch.log(torch.exp(x - m).sum(dim=dim, keepdim=True))).squeeze(dim)


def naive_logsumexp(x, dim=-1):
    """Has no shift: overflows."""
    return torch.log(torch.exp(x).sum(dim=dim))


def right_z_loss(logits, coefficient=1e-4):
    return coefficient * (right_logsumexp(logits) ** 2).mean()


def unsquared_z_loss(logits, coefficient=1e-4):
    return coefficient * right_logsumexp(logits).mean()


def right_z_loss_gradient(logits, coefficient=1e-4):
    log_z = right_logsumexp(logits).unsqueeze(-1)
    return 2 * coefficient * log_z * torch.exp(logits - log_z) / log_z.numel()


def half_z_loss_gradient(logits, coefficient=1e-4):
    return right_z_loss_gradient(logits, coefficient) / 2


def _rms(x, gain, eps):
    return x * torch.rsqrt((x**2).mean(-1, keepdim=True) + eps) * gain


def right_qk_norm(q, k, q_gain, k_gain, eps=1e-6):
    return _rms(q, q_gain, eps), _rms(k, k_gain, eps)


def query_only_qk_norm(q, k, q_gain, k_gain, eps=1e-6):
    return _rms(q, q_gain, eps), k


def right_bound(q_gain, k_gain):
    return math.sqrt(len(q_gain)) * q_gain.abs().max().item() * k_gain.abs().max().item()


def rootless_bound(q_gain, k_gain):
    return q_gain.abs().max().item() * k_gain.abs().max().item()


def right_soft_cap(x, cap):
    return cap * torch.tanh(x / cap)


def clamp_cap(x, cap):
    return x.clamp(-cap, cap)


RIGHT = {
    "logsumexp": right_logsumexp,
    "z_loss": right_z_loss,
    "z_loss_gradient": right_z_loss_gradient,
    "qk_norm": right_qk_norm,
    "qk_norm_bound": right_bound,
    "soft_cap": right_soft_cap,
}
WRONG = {
    "logsumexp": naive_logsumexp,
    "z_loss": unsquared_z_loss,
    "z_loss_gradient": half_z_loss_gradient,
    "qk_norm": query_only_qk_norm,
    "qk_norm_bound": rootless_bound,
    "soft_cap": clamp_cap,
}
