"""Drawing of train short, test long: every position scheme, both questions."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.figures.parts import band, mean

GROUPS = {
    "absolute, or none": ("no positions", "sinusoidal", "learned", "TUPE"),
    "relative": ("Shaw", "Transformer-XL", "DeBERTa", "T5 bias", "ALiBi"),
    "rotary": ("RoPE", "partial RoPE", "RoPE, wrong half"),
    "RoPE, changed after training": (
        "RoPE + PI",
        "RoPE + PI, tuned",
        "RoPE + NTK",
        "RoPE + dynamic NTK",
        "RoPE + YaRN",
        "RoPE + window of 64",
    ),
}
QUESTIONS = {"twin": "twin", "back": "three back"}
CHANCE = 1 / 8


def length(data: Data) -> tuple[Figure, str]:
    """Accuracy over position: one column per kind of scheme, one row per question."""
    figure = Figure(figsize=(12.5, 5.6), layout="constrained")
    axes = figure.subplots(2, len(GROUPS), sharex=True, sharey=True)
    figure.suptitle(f"Train short ({data['trained']} tokens), test long")
    ends: dict[str, list[float]] = {}
    for column, (title, names) in zip(axes.T, GROUPS.items(), strict=True):
        for ax, question in zip(column, QUESTIONS, strict=True):
            for name in (n for n in names if n in data["schemes"]):
                runs = [run[question] for run in data["schemes"][name]]
                band(ax, [data["width"] * (i + 0.5) for i in range(len(runs[0]))], runs, name)
                ends.setdefault(name, []).append(mean(run[-1] for run in runs))
            ax.axvline(data["trained"], color="#777777", lw=1)
            ax.axhline(CHANCE, color="#777777", lw=1, ls=":")
            ax.set(ylim=(0, 1.05), xticks=range(0, 257, 64))
        column[0].set_title(title, fontsize=10)
        column[1].set_xlabel("position (tokens)")
        column[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), fontsize=9)
    for ax, question in zip(axes[:, 0], QUESTIONS.values(), strict=True):
        ax.set_ylabel(f"accuracy, {question}")
    told = "; ".join(f"{n} {twin:.2f} and {back:.2f}" for n, (twin, back) in ends.items())
    return figure, (
        f"Accuracy over position of models trained on {data['trained']} tokens (line), band from lowest to "
        f"highest seed; dotted: chance. At the last positions, twin anywhere and three back: {told}. "
        f"Learned and TUPE tables end at {data['trained']}."
    )
