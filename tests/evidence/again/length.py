"""The recording holds, for each scheme and seed, the share of right answers in stretches of 16 places; computes ends,
extremes, runs with 95 % or more, and differences between two readings of the same seeds."""

from math import sqrt
from statistics import mean, stdev

RIGHT = 0.95


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    full, half, ablations = data["schemes"], data["shorter"], data["ablations"]
    at_trained = data["trained"] // data["width"] - 1  # the stretch whose last place is the trained length

    def end(table, name, question):
        return [run[question][-1] for run in table[name]]

    def inside(table, name, question):
        return [run[question][at_trained] for run in table[name]]

    def lowest_anywhere(table, name, question):
        return min(value for run in table[name] for value in run[question])

    def right(*lists):
        return sum(all(value >= RIGHT for value in run) for run in zip(*lists, strict=True))

    def gap(table, one, other, question):
        differences = [a - b for a, b in zip(end(table, one, question), end(table, other, question), strict=True)]
        return mean(differences), stdev(differences) / sqrt(len(differences)), len(differences)

    found = {
        "trained": data["trained"],
        "tested": len(full["RoPE"][0]["back"]) * data["width"],
        "seeds": len(full["RoPE"]),
        "steps": data["steps"],
        "longer_steps": data["steps"] * data["longer"],
        "tuning_steps": data["tuning_steps"],
        # The window is as wide as the trained length, and part of the name.
        "shorter.trained": next(int(name.split()[-1]) for name in half if "window of" in name),
        "shorter.tested": len(half["RoPE"][0]["back"]) * data["width"],
    }

    # RoPE with the wrong half.
    wrong = "RoPE, wrong half"
    found |= {
        "rope_wrong_half.back.trained.right": right(inside(full, wrong, "back")),
        "rope_wrong_half.twin.trained.right": right(inside(full, wrong, "twin")),
        "rope_wrong_half.of": len(full[wrong]),
        "rope_wrong_half.back.end.min": min(end(full, wrong, "back")),
        "rope_wrong_half.back.end.max": max(end(full, wrong, "back")),
        "rope.back.end.min": min(end(full, "RoPE", "back")),
        "rope.back.end.max": max(end(full, "RoPE", "back")),
    }
    for part, table in (("", full), ("shorter.", half)):
        average, error, _ = gap(table, wrong, "RoPE", "back")
        found |= {
            f"{part}wrong_half_minus_right.back.mean": average,
            f"{part}wrong_half_minus_right.back.error": error,
        }

    # Past the trained length. The text counts runs that are right up to it in both schemes and both questions.
    found |= {
        "rope.back.trained.right": right(
            *(inside(full, name, question) for name in ("RoPE", "sinusoidal") for question in ("back", "twin"))
        ),
        "rope.of": len(full["RoPE"]),
        "rope.twin.end.mean": mean(end(full, "RoPE", "twin")),
        "rope.twin.end.min": min(end(full, "RoPE", "twin")),
        "rope.twin.end.max": max(end(full, "RoPE", "twin")),
        "sinusoidal.twin.end.min": min(end(full, "sinusoidal", "twin")),
        "sinusoidal.twin.end.max": max(end(full, "sinusoidal", "twin")),
        "sinusoidal.back.end.min": min(end(full, "sinusoidal", "back")),
        "sinusoidal.back.end.max": max(end(full, "sinusoidal", "back")),
        "shorter.rope.twin.end.mean": mean(end(half, "RoPE", "twin")),
        "shorter.rope.back.end.mean": mean(end(half, "RoPE", "back")),
    }

    # Other readings of the same weights.
    for part, table in (("", full), ("shorter.", half)):
        for question in ("twin", "back"):
            average, error, pairs = gap(table, "RoPE + NTK", "RoPE", question)
            found[f"{part}ntk_minus_rope.{question}.mean"] = average
            found[f"{part}ntk_minus_rope.{question}.error"] = error
            if (part, question) == ("", "twin"):
                found["ntk_minus_rope.twin.pairs"] = pairs
    found |= {
        "rope_pi_tuned.back.end.max": max(end(full, "RoPE + PI, tuned", "back")),
        "rope_window_of_64.back.anywhere.min": lowest_anywhere(full, "RoPE + window of 64", "back"),
        "rope_window_of_64.twin.end.mean": mean(end(full, "RoPE + window of 64", "twin")),
        "shorter.rope_window_of_32.back.anywhere.min": lowest_anywhere(half, "RoPE + window of 32", "back"),
        "shorter.rope_window_of_32.twin.end.mean": mean(end(half, "RoPE + window of 32", "twin")),
        "rope_yarn.back.end.right": right(end(full, "RoPE + YaRN", "twin"), end(full, "RoPE + YaRN", "back")),
        "rope_yarn.of": len(full["RoPE + YaRN"]),
        "shorter.rope_yarn.twin.end.min": min(end(half, "RoPE + YaRN", "twin")),
        "shorter.rope_yarn.back.end.min": min(end(half, "RoPE + YaRN", "back")),
        "shorter.rope_yarn.back.end.max": max(end(half, "RoPE + YaRN", "back")),
    }

    # Schemes that still work beyond the trained length.
    found |= {
        "no_positions.twin.anywhere.min": lowest_anywhere(full, "no positions", "twin"),
        "alibi.twin.anywhere.min": lowest_anywhere(full, "ALiBi", "twin"),
        "alibi.back.trained.mean": mean(inside(full, "ALiBi", "back")),
        "shaw.twin.end.mean": mean(end(full, "Shaw", "twin")),
        "deberta.back.end.mean": mean(end(full, "DeBERTa", "back")),
        "partial_rope.twin.end.mean": mean(end(full, "partial RoPE", "twin")),
        "transformer_xl.twin.trained.right": right(inside(full, "Transformer-XL", "twin")),
        "transformer_xl.of": len(full["Transformer-XL"]),
        "ablations.transformer_xl_longer.twin.trained.right": right(
            inside(ablations, "Transformer-XL, longer", "twin")
        ),
        "ablations.transformer_xl_longer.of": len(ablations["Transformer-XL, longer"]),
        "ablations.transformer_xl_longer.twin.end.min": min(end(ablations, "Transformer-XL, longer", "twin")),
    }
    for name in ("Shaw", "DeBERTa"):
        every, drawn = f"{name}, every distance", f"{name}, far rows drawn"
        found |= {
            f"ablations.{name.lower()}_every_distance.back.end.right": right(end(ablations, every, "back")),
            f"ablations.{name.lower()}_every_distance.of": len(ablations[every]),
            f"ablations.{name.lower()}_far_rows_drawn.back.end.right": right(end(ablations, drawn, "back")),
        }
    return found
