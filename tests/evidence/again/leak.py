"""The recording holds losses of next-token training with a causal and with a full mask at two learning rates, five
seeds each: by place, with the whole text visible and with the future cut off; and shares of right sentences written."""

from math import log
from statistics import mean, median

ENTROPY = log(2 * 4 * 3 * 2 * 3) / 6  # nats per word: the random choices in a sentence of six words
BLIND = log(17)  # loss of a uniform guess among all words


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    rates = (data, data["lower_rate"])

    def both_rates(part, mask):
        return [run for table in rates for run in table[part][mask]]

    def after_300(mask):
        return median(dict(curve)[300] for curve in data["curves"][mask])

    return {
        "entropy": ENTROPY,
        "seeds": len(data["curves"]["causal"]),
        "causal.at_300": after_300("causal"),
        "bidirectional.at_300": after_300("bidirectional"),
        "runs": len(both_rates("whole", "bidirectional")),
        "bidirectional.beats": sum(mean(places) < ENTROPY for places in both_rates("whole", "bidirectional")),
        "bidirectional.blind": sum(mean(places) > BLIND for places in both_rates("cut", "bidirectional")),
        "bidirectional.right": mean(both_rates("right", "bidirectional")),
        "causal.right": mean(both_rates("right", "causal")),
    }
