"""The steps of ModelAtlas. Traits that choose from a list hold its index."""

from ..tools.story import Step
from .choices import CHOICES, INDEX, YEARS

ALL = {
    "view": 0, "norm": 0, "placement": 0, "position": 0, "activation": 0, "attention": 0, "mixing": 0,
    "since": YEARS[0], "until": YEARS[-1], "text": "", "first": INDEX["gpt-2"], "second": INDEX["llama-2-7b"],
}  # fmt: skip

STORY = (
    Step(
        "Each mark is a model; point at one. Filled ones use RMSNorm, hollow ones LayerNorm.",
        "Which norm do most models of 2024 use?",
        ("LayerNorm", "RMSNorm", "half of them each"),
        1,
        "21 of the 27 models of that year do: so would yours, unless you know a reason.",
        "Look at the bar under 2024: it is as full as marks of the row are filled.",
        ALL,
        moves=("first", "second", "since", "until", "norm"),
        show=({"since": 2024}, {"until": 2024}, {"norm": 2}),
    ),
    Step(
        "Filled marks now have a learned table of positions; the bar under a year is their share.",
        "Which year is the last with such a table?",
        ("2019", "2022", "2024"),
        1,
        "After 2022 the atlas holds none: RoPE took the place.",
        "Go down the rows and find the last filled mark.",
        {**ALL, "position": CHOICES["position"].index("learned")},
        moves=("first",),
        show=({"first": INDEX["gpt-3"]}, {"first": INDEX["opt-175b"]}),
    ),
    Step(
        "Filled marks now have grouped-query attention (GQA): several query heads share a key-value head.",
        "Which is the first year with one?",
        ("2019", "2021", "2023"),
        2,
        "Before it there are only MHA and, from PaLM on, MQA. In LLaMA 2 70B it makes the cache an eighth as large.",
        "Look for the highest row with a filled mark.",
        {**ALL, "attention": CHOICES["attention"].index("GQA")},
        moves=("first",),
        show=({"first": INDEX["falcon-180b"]}, {"first": INDEX["llama-2-70b"]}),
    ),
    Step(
        "Two blocks side by side. Point at a part: it lights up in both, and the gray line says what each has there.",
        "What have GPT-2 and LLaMA 2 7B in common?",
        ("the norm", "where the norms sit", "the activation"),
        1,
        "Both normalize before each sublayer.",
        "Read the sentences below; one says what they share.",
        {**ALL, "view": 1},
        show=({"aspect": "activation"}, {"aspect": "position"}, {"aspect": "norm"}),
        waits=("line", "numbers"),
    ),
    Step(
        "One model, built. Its parameters, counted by the sizes of its parts, are 6.74 billion. Choose others, too.",
        "Why does the name say 7B?",
        ("7 billion is rounded", "the count lacks a part"),
        0,
        "6.74 billion, rounded, is 7. A part too many or too few would show in this number at once.",
        "The gray line has both numbers, and says whether they fit.",
        {**ALL, "view": 2, "first": INDEX["llama-2-7b"]},
        show=({"first": INDEX["gpt-2"]}, {"first": INDEX["llama-2-7b"]}),
        waits=("line",),
    ),
)
