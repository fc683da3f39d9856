"""The recording holds, for four schemes trained on 64 and on 128 places, three seeds each, the share of right answers
in stretches of 16 places up to 256, and T5's tables; computes shares within and beyond the training length."""

from math import log, sqrt
from statistics import mean, stdev

LEARNED = 0.95


def bucket(distance):
    """T5's causal bucket: 16 exact ones, then 16 of logarithmic width up to distance 128."""
    return distance if distance < 16 else min(31, 16 + int(16 * log(distance / 16) / log(8)))


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    rows, width = data["rows"], data["width"]

    def of(scheme, trained):
        return [row for row in rows if row["scheme"] == scheme and row["trained"] == trained]

    def within(row, question):
        return mean(row[question][: row["trained"] // width])

    def beyond(row, question):
        return mean(row[question][row["trained"] // width :])

    def fell(row, question):
        return within(row, question) >= LEARNED > beyond(row, question)

    short, long = of("sinusoidal", 64), of("sinusoidal", 128)
    found = {
        "seeds": len(short),
        "steps": data["setting"]["steps"],
        "sinusoidal.on64.back_fell": sum(fell(row, "back") for row in short),
        "sinusoidal.on64.twin_inside": mean(within(row, "twin") for row in short),
        "sinusoidal.on64.back_inside": mean(within(row, "back") for row in short),
        "sinusoidal.on64.back_beyond_lowest": min(beyond(row, "back") for row in short),
        "sinusoidal.on64.back_beyond_highest": max(beyond(row, "back") for row in short),
        "sinusoidal.on64.twin_beyond_lowest": min(beyond(row, "twin") for row in short),
        "sinusoidal.on64.twin_beyond_highest": max(beyond(row, "twin") for row in short),
        "sinusoidal.on128.twin_inside": mean(within(row, "twin") for row in long),
        "sinusoidal.on128.twin_beyond": mean(beyond(row, "twin") for row in long),
        "sinusoidal.on128.twin_fell": sum(fell(row, "twin") for row in long),
        "sinusoidal.on128.back_learned": sum(within(row, "back") >= LEARNED for row in long),
        "sinusoidal.on128.back_beyond_lowest": min(beyond(row, "back") for row in long),
        "sinusoidal.on128.back_beyond_highest": max(beyond(row, "back") for row in long),
    }

    keepers = [row for row in rows if row["scheme"] in ("T5 bias", "ALiBi")]
    t5, t5_long = of("T5 bias", 64), of("T5 bias", 128)
    found |= {
        "both_runs": len(keepers),
        "twin_missed": max(1 - beyond(row, "twin") for row in keepers),
        "alibi.on64.back_inside": mean(within(row, "back") for row in of("ALiBi", 64)),
        "alibi.on64.back_end": mean(row["back"][-1] for row in of("ALiBi", 64)),
        "alibi.on64.twin_missed_end": 1 - mean(row["twin"][-1] for row in of("ALiBi", 64)),
        "alibi8.on64.back_inside": mean(within(row, "back") for row in of("ALiBi, 8 heads", 64)),
        "alibi8.on64.back_end": mean(row["back"][-1] for row in of("ALiBi, 8 heads", 64)),
        "alibi8.on64.twin_missed_end": 1 - mean(row["twin"][-1] for row in of("ALiBi, 8 heads", 64)),
        "t5.on64.back_inside": mean(within(row, "back") for row in t5),
        "t5.on64.back_end": mean(row["back"][-1] for row in t5),
        "t5.on128.back_end": mean(row["back"][-1] for row in t5_long),
    }

    # Of the two heads, the one that looks three tokens back is the one that favors bucket 3.
    heads = [max(zip(*row["table"], strict=True), key=lambda head: head[3]) for row in t5]
    last_met = max(map(bucket, range(64)))
    unmet = list(range(last_met + 1, 32))
    untouched = [[b for b, entry in enumerate(row["table"]) if not any(entry)] for row in t5]
    gains = [row["filled"]["back"][-1] - row["back"][-1] for row in t5]
    return found | {
        "t5.third": mean(head[3] for head in heads),
        "t5.lowered": -mean(value for head in heads for value in head[4 : last_met + 1]),
        "t5.first": unmet[0],
        "t5.last": unmet[-1],
        "t5.unchanged": untouched.count(unmet),
        "t5.filled_end": mean(row["filled"]["back"][-1] for row in t5),
        "t5.gain": mean(gains),
        "t5.gain_error": stdev(gains) / sqrt(len(gains)),
        "t5.gained": sum(gain > 0 for gain in gains),
    }
