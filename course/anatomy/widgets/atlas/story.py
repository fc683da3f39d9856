"""The steps of ModelAtlas. Traits that choose from a list hold its index."""

from ..tools.story import Step
from .choices import CHOICES, INDEX, YEARS

ALL = {
    "view": 0, "norm": 0, "placement": 0, "position": 0, "activation": 0, "attention": 0, "mixing": 0,
    "since": YEARS[0], "until": YEARS[-1], "text": "", "first": INDEX["gpt-2"], "second": INDEX["llama-2-7b"],
}  # fmt: skip
FIRST = ("view", "filter")  # a first look needs neither other views nor filters


def _family(name: str, value: str) -> dict[str, int]:
    return {name: CHOICES[name].index(value)}


STORY = (
    Step(
        "Each mark is a model. Point at GPT-2, LLaMA (2023) and GPT-4: arrows lead to what starts from it.",
        "To which do the most models go back?",
        ("GPT-2", "LLaMA", "GPT-4"),
        1,
        "17 later models go back to LLaMA, whose paper tells its design. GPT-4's report keeps it secret.",
        "Point at all three, and compare the ends of the gray line.",
        ALL,
        moves=("first",),
        show=({"first": INDEX["llama-1-7b"]}, {"first": INDEX["gpt-4"]}),
        without=FIRST,
    ),
    Step(
        "Filled models learn a row per position, until 2022. Choose other ways to tell order, and look at the bars.",
        "What took the table's place?",
        ("RoPE, nearly everywhere", "ALiBi", "each model's own way"),
        0,
        "51 of 54 from 2024 on have RoPE. A table ends at its last row; RoPE turns by any position.",
        "Choose one answer after the other: which of them fills the bars from 2024 on?",
        {**ALL, **_family("position", "learned")},
        moves=("first", "position"),
        show=tuple(_family("position", value) for value in ("ALiBi", "relative", "RoPE")),
        without=FIRST,
    ),
    Step(
        "A model keeps each token's keys and values: its KV cache. Point at the first LLaMA 2, 7B, and the last, 70B.",
        "Why does the larger keep less?",
        ("it has fewer layers", "its heads share", "it rounds numbers"),
        1,
        "64 query heads share 8 keys and values: grouped-query attention (GQA), as in all filled marks.",
        "The gray line says what is multiplied. Point at the two: which factor is smaller for 70B?",
        {**ALL, **_family("attention", "GQA"), "first": INDEX["llama-2-7b"], "second": INDEX["llama-2-70b"]},
        moves=("first",),
        show=({"first": INDEX["llama-2-70b"]}, {"first": INDEX["llama-2-7b"]}, {"first": INDEX["llama-2-70b"]}),
        waits=("numbers",),
        without=FIRST,
    ),
    Step(
        "Filled: RMSNorm, and 2026 has nothing else. Now choose a mixing, which is how a token takes from others.",
        "Does 2026 agree on that, too?",
        ("yes, on softmax", "yes, on latent", "no, three ways"),
        2,
        "All six have RMSNorm, but three ways to mix. Each keeps or reads less of a long text.",
        "Choose “recurrent state”, “chosen tokens” and “latent”: is the bar under 2026 ever full?",
        ALL,
        moves=("first", "mixing"),
        show=(
            _family("mixing", "recurrent state"),
            _family("mixing", "chosen tokens"),
            _family("mixing", "latent"),
        ),
        without=("view",),
    ),
    Step(
        "Blocks of 2019 and 2023, read from the tokens up. Point at a part: it lights up in both.",
        "What stayed the same?",
        ("two sublayers, each added", "the parts in them", "the sizes"),
        0,
        "Norm, positions and activation changed. The stream, to which both sublayers add, is the same.",
        "Compare box by box, then the arrows and the pluses.",
        {**ALL, "view": 1},
        show=({"aspect": "activation"}, {"aspect": "position"}, {"aspect": "norm"}),
        waits=("line", "numbers"),
        without=("filter",),
    ),
    Step(
        "Mixtral 8x7B has 46.7 billion parameters, and not 8 × 7 = 56. Look at a layer, the dashed frame.",
        "What does a layer have only once?",
        ("attention", "the feed-forward", "nothing"),
        0,
        "Eight experts are eight feed-forwards. All of them share the one attention and the norms of their layer.",
        "Which box speaks of 8 experts, and which does not?",
        {**ALL, "view": 2, "first": INDEX["mixtral-8x7b"]},
        show=({"aspect": "attention"}, {"aspect": "activation"}),
        waits=("line",),
        without=("filter",),
    ),
)
