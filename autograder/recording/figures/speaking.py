"""Drawings of experiments on the language model: a copying head, broken parts, longer texts, the time per token."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.experiments.austen import SHIPPED
from autograder.recording.experiments.counting import numbers
from autograder.recording.figures.parts import band, legend, mean, panels, spread, ticks

MOST = 12  # nats; a model without norms has a far larger loss, and its bar ends here


def induction(data: Data) -> tuple[Figure, str]:
    """Accuracy over steps for the model and its controls; where its heads look; heads switched off."""
    figure, axes = panels(
        "A head that copies",
        "accuracy after the first round",
        "two layers: where the heads look",
        "two layers: heads switched off",
        width=3.7,
    )
    ways = list(dict.fromkeys(r["way"] for r in data["rows"]))
    runs = {way: [r for r in data["rows"] if r["way"] == way] for way in ways}
    steps = [c["step"] for c in data["rows"][0]["curve"]]
    for way in ways:
        band(axes[0], steps, [[c["accuracy"] for c in r["curve"]] for r in runs[way]], way)
    two = runs[ways[0]]
    looks = {"layer 0, at the token before": ("previous", 0), "layer 1, after earlier occurrences": ("score", 1)}
    for name, (key, layer) in looks.items():
        band(axes[1], steps, [[c[key][layer] for c in r["curve"]] for r in two], name)
    bars = {"none": [r["curve"][-1]["accuracy"] for r in two]}
    bars |= {f"layer {i}": [r["off"][i]["accuracy"] for r in two] for i in range(len(two[0]["off"]))}
    for i, values in enumerate(bars.values()):
        axes[2].bar(i, mean(values), yerr=spread(values), capsize=4, color="#0072B2")
    axes[2].set_xticks(range(len(bars)), bars)
    axes[2].set(xlabel="switched off", ylabel="accuracy")
    for ax in axes[:2]:
        ax.set(xlabel="step")
        ax.legend(fontsize=8, loc="center left")
    for ax in axes:
        ax.set_ylim(0, 1.05)
    ends = ", ".join(f"{way} {mean(r['curve'][-1]['accuracy'] for r in runs[way]):.2f}" for way in ways)
    off = ", ".join(f"{name} {mean(values):.2f}" for name, values in bars.items())
    score = mean(r["curve"][-1]["score"][-1] for r in two)
    return figure, (
        f"Accuracy after {steps[-1]} steps, mean of the seeds: {ends}. With two layers, the second head's share of "
        f"attention on tokens after earlier occurrences ends at {score:.2f}. Accuracy by the layer switched off: {off}."
    )


def breaking(data: Data) -> tuple[Figure, str]:
    """Loss of trained models with a broken part, and of small models trained with it."""
    figure, axes = panels("One part broken", "in trained models", "while a small model learns", width=5.4, height=4.2)
    losses = {r["model"]: r["losses"] for r in data["used"]}
    parts = sorted(losses[SHIPPED], key=losses[SHIPPED].get)
    others = [row for name, row in losses.items() if name != SHIPPED]
    axes[0].barh(parts, [min(losses[SHIPPED][p], MOST) for p in parts], color="#56B4E9", label="the shipped model")
    for row in others:
        axes[0].plot([min(row[p], MOST) for p in parts], range(len(parts)), "o", color="#0072B2", ms=4)
    axes[0].plot([], [], "o", color="#0072B2", ms=4, label="trained from other seeds")
    axes[0].invert_yaxis()
    axes[0].set(xlabel=f"loss on held-out text (nats per token), at most {MOST} drawn")
    learned = list(dict.fromkeys(r["part"] for r in data["learned"]))
    for part in learned:
        curves = [numbers(r["curve"]) for r in data["learned"] if r["part"] == part]
        every = data["small"] / len(curves[0])
        band(axes[1], [every * i for i in range(len(curves[0]))], curves, f"{part}, learning")
    axes[1].set(xlabel="step", ylabel="loss while training (nats per token)")
    legend(figure, axes, columns=3)
    told = ", ".join(f"{p} {losses[SHIPPED][p]:.2f}" if losses[SHIPPED][p] < 1e3 else f"{p} huge" for p in parts)
    rows = {part: [r for r in data["learned"] if r["part"] == part] for part in learned}
    ends = "; ".join(
        f"{part}: {mean(r['loss'] for r in rows[part]):.2f}, and {mean(r['unseen'] for r in rows[part]):.2f} where the "
        "next token is not there"
        for part in learned
    )
    return figure, f"Loss of the shipped model: {told}. Loss of small models that learned with a part broken: {ends}."


def longer_text(data: Data) -> tuple[Figure, str]:
    """Loss along texts four times as long as in training, for each cure; one panel per trained model."""
    chosen = sorted(data["rows"], key=lambda r: r["model"] != SHIPPED)
    names = {SHIPPED: "the shipped model"}
    titles = [f"{names.get(r['model'], r['model'])}, trained on {r['trained']}" for r in chosen]
    figure, axes = panels("A text longer than training", *titles, width=4.6, height=3.8)
    for ax, row in zip(axes, chosen, strict=True):
        width = row["trained"] / 4
        for cure, values in row["along"].items():
            ax.plot([width * (i + 0.5) for i in range(len(values))], values, label=cure, lw=1.4)
        ax.axvline(row["trained"], color="black", lw=1)
        ax.set(xlabel="place in the text", ylabel="loss (nats per token)")
    legend(figure, axes, columns=4)
    first = chosen[0]
    told = ", ".join(f"{cure} {sum(v[-2:]) / 2:.2f}" for cure, v in first["along"].items())
    return figure, (
        f"Loss along texts of {data['stretch'] * first['trained']} tokens, the model trained on {first['trained']}; in "
        f"the last eighth: {told}. At the end of the trained length it was {first['along']['as trained'][3]:.2f}."
    )


def speed_of_speech(data: Data) -> tuple[Figure, str]:
    """Time per token over the number of parameters, compared with the bounds from bytes and operations."""
    calls = data["rows"][0]["calls"]
    figure, (ax,) = panels("What a token's time goes into", f"{calls} calls at every size", width=6, height=3.8)
    rows = sorted(data["rows"], key=lambda r: r["parameters"])
    x = [r["parameters"] / 1e6 for r in rows]
    measured = [1e3 * min(r["seconds"]) for r in rows]
    ax.plot(x, measured, marker="o", ms=4, label="measured")
    for key, label in (("reading", "reading all weights"), ("computing", "multiplying and adding")):
        ax.plot(x, [1e3 * r[key] for r in rows], marker="s", ms=3, label=label)
    own = next(r for r in rows if r["model"] == data["own"])
    ax.axvline(own["parameters"] / 1e6, color="#777777", lw=1, label="the shipped model's size")
    ax.set(xscale="log", yscale="log", xlabel="million parameters", ylabel="ms per token")
    ticks(ax.xaxis)
    ticks(ax.yaxis)
    legend(figure, [ax], columns=2)
    ms = 1e3 * min(own["seconds"])
    return figure, (
        f"At the shipped model's {own['parameters'] / 1e6:.1f} million parameters a token takes {ms:.2f} ms; reading "
        f"all weights takes {1e3 * own['reading']:.3f} ms and computing {1e3 * own['computing']:.3f} ms. With next to "
        f"no numbers the same calls take {measured[0]:.2f} ms. At {x[-1]:.0f} million a token takes "
        f"{measured[-1]:.1f} ms, and reading {1e3 * rows[-1]['reading']:.1f} ms."
    )
