"""The steps of CacheCalculator."""

from ..tools.story import Step

LLAMA_TWO, LLAMA_THREE, MISTRAL = 2, 4, 7  # indices in MODELS
_USUAL = {
    "model": LLAMA_TWO,
    "kind": 0,
    "stack": 0,
    "itemsize": 2,
    "tokens": 4096,
    "users": 16,
    "gpu": 1,
    "more": False,
}
_REST = ("more", "gpu", "itemsize", "tokens")  # controls that most steps go without

STORY = (
    Step(
        "A model keeps keys and values of each token that it has read, so that it need not compute them again. A "
        "block is one user’s cache, the upright line the GPU’s memory. Drag the grip.",
        "Do 32 users fit?",
        ("yes", "no"),
        1,
        "30 fit. With 32, a part of the bar lies beyond the memory; drag the grip there, and that part is hatched.",
        "Drag until the bar says 32 caches.",
        _USUAL,
        moves=("users",),
        show=tuple({"users": n} for n in (24, 28, 30, 31, 32)),
        waits=("line", "signs", "numbers"),
        without=(*_REST, "model", "kind", "bytes"),
    ),
    Step(
        "Each layer has key-value heads. Each makes a key and a value of a token, and both stay in the cache. A square "
        "stands for one of the number above it. Now choose LLaMA-2 70B as “model”.",
        "Is its cache per token larger than the 7B’s?",
        ("yes, 10 times", "yes, 2.5 times", "no, smaller"),
        2,
        "2 × 80 × 8 × 128 × 2 = 327,680 bytes, not 524,288: 2.5 times the layers, but a quarter of the key-value "
        "heads.",
        "Of which squares has LLaMA-2 70B more, of which fewer? Multiply the numbers above them.",
        _USUAL,
        moves=("model",),
        show=({"model": 3}, {"model": 2}, {"model": 3, "part": 0}),
        waits=("line", "signs", "numbers"),
        without=(*_REST, "kind", "users", "memory"),
    ),
    Step(
        "Query heads ask; what a key-value head makes is stored, and query heads can share one. Choose MQA as "
        "“attention”, and watch the squares (pale: query heads that share one) and the bar’s blocks.",
        "As built, 30 users fit. How many fit with MQA?",
        ("about 60", "about 250", "about 1,000"),
        2,
        "991: all 32 query heads share one key and one value, so a cache is 1/32: 256 numbers a layer.",
        "How many times fewer key-value heads has MQA? About so many times more users fit.",
        _USUAL,
        moves=("kind",),
        show=({"kind": 1}, {"kind": 2}, {"kind": 4}, {"kind": 3, "part": 4}),
        waits=("line", "signs", "numbers"),
        without=(*_REST, "model"),
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
        without=(*_REST, "model", "kind", "bytes"),
    ),
    Step(
        "Your turn: 64 users of 32,768 tokens are far too much for this GPU.",
        "Which of these changes alone makes them fit?",
        ("1 byte per number", "MQA", "GQA, up to 8"),
        1,
        "One key-value head, not 8: an eighth, for a model trained so. GQA is there already; 1 byte only halves it.",
        "Change one setting, look at the upright line, and change it back.",
        {**_USUAL, "model": LLAMA_THREE, "users": 64, "tokens": 32768},
        moves=("kind", "itemsize"),
        show=({"itemsize": 1}, {"itemsize": 2}, {"kind": 2}, {"kind": 3}),
    ),
    Step(
        "Mistral reads only a window of the latest tokens. Run along the curve of one user's cache.",
        "From how many tokens on does it stop growing?",
        ("1,024", "4,096", "never"),
        1,
        "min(tokens, 4,096): what lies before the window is dropped, so even 1,048,576 tokens take no more.",
        "Find the place where the blue line turns flat.",
        {**_USUAL, "model": MISTRAL, "tokens": 1024, "more": True},
        moves=("tokens",),
        show=tuple({"tokens": 2**e, "part": 1} for e in (11, 12, 13, 14)),
        waits=("line", "signs", "numbers"),
        without=("more", "gpu", "itemsize", "model", "kind", "users", "memory"),
    ),
)
