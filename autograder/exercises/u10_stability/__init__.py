"""Specs of unit 10: sums of exponentials, bounded scores, weight decay, dropout, clipping and loss spikes."""

from . import clip, dropout, logsumexp, parameter_groups, qk_norm, soft_cap, spike, weight_decay, z_loss

EXERCISES = [
    logsumexp.EXERCISE,
    z_loss.EXERCISE,
    qk_norm.EXERCISE,
    soft_cap.EXERCISE,
    parameter_groups.EXERCISE,
    weight_decay.EXERCISE,
    dropout.EXERCISE,
    clip.EXERCISE,
    spike.EXERCISE,
]
