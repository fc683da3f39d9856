"""The steps of CacheCalculator."""

from ..tools.story import Step

LLAMA_TWO, LLAMA_THREE, MISTRAL = 2, 4, 7  # indices in MODELS
_USUAL = {"model": LLAMA_TWO, "kind": 0, "stack": 0, "itemsize": 2, "tokens": 4096, "users": 16, "gpu": 1, "more": True}

STORY = (
    Step(
        "A model keeps keys and values of each token that it has read, so that it need not compute them again. A "
        "block is one user’s cache, the upright line the GPU’s memory. Drag the grip.",
        "Do 32 users fit?",
        ("yes", "no"),
        1,
        "30 fit. With 32, a part of the bar lies beyond the memory; drag the grip there, and that part is hatched.",
        "Drag until the bar says 32 caches.",
        {**_USUAL, "more": False},
        moves=("users",),
        show=tuple({"users": n} for n in (24, 28, 30, 31, 32)),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "Point at the kinds, and read below them what each means. A block of the bar is one user’s cache.",
        "As built, 30 users fit. How many fit with MQA?",
        ("about 60", "about 250", "about 1,000"),
        2,
        "991: all 32 query heads share one key and one value, so a cache is 1/32: 256 numbers a layer.",
        "How many times shorter is MQA’s bar? About so many times more users fit.",
        _USUAL,
        moves=("kind",),
        show=({"kind": 1}, {"kind": 2}, {"kind": 4}, {"kind": 3, "part": 4}),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "Mistral reads only a window of the latest tokens. Run along the curve of one user's cache.",
        "From how many tokens on does it stop growing?",
        ("1,024", "4,096", "never"),
        1,
        "min(tokens, 4,096): what lies before the window is dropped, so even 1,048,576 tokens take no more.",
        "Find the place where the blue line turns flat.",
        {**_USUAL, "model": MISTRAL, "tokens": 1024},
        moves=("tokens",),
        show=tuple({"tokens": 2**e, "part": 1} for e in (11, 12, 13, 14)),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "Each token costs one reading of the weights and of all caches. Point at “time per token”.",
        "From 16 to 32 users: does the time double?",
        ("yes", "no, it grows less"),
        1,
        "12.1 → 16.3 ms: the caches double, 8.59 → 17.2 GB; the 16.1 GB of weights are read once for all.",
        "Drag the grip from 16 to 32 and read the last result.",
        {**_USUAL, "model": LLAMA_THREE},
        moves=("users",),
        show=({"part": 5}, {"users": 24, "part": 5}, {"users": 32, "part": 5}),
    ),
    Step(
        "Your turn: 64 users of 32,768 tokens are far too much for this GPU.",
        "Which of these changes alone makes them fit?",
        ("1 byte per number", "MQA", "GQA, up to 8"),
        1,
        "One key head, not 8: an eighth, for a model trained so. GQA is there already; 1 byte only halves it.",
        "Change one setting, look at the upright line, and change it back.",
        {**_USUAL, "model": LLAMA_THREE, "users": 64, "tokens": 32768},
        moves=("kind", "itemsize"),
        show=({"itemsize": 1}, {"itemsize": 2}, {"kind": 2}, {"kind": 3}),
    ),
)
