"""The steps of CacheStepper."""

from ..tools.story import Step

PROMPT = [4, 1, 1, 1, 1]

STORY = (
    Step(
        "Each word leaves a key and a value in the store. Four words, the prompt, came at once; now “the” is written. "
        "Its query reads the keys, and its row has their weights: how much it takes from each word.",
        "How many keys does this step compute anew?",
        ("1", "4", "5"),
        0,
        "Only the cell in full color has a new key. The four tinted keys come from the store.",
        "Each cell of the row is a key. Count those in full color, and read the legend.",
        {"view": 0, "plan": PROMPT, "chunk": 1, "store": 0, "origin": 0, "more": False},
        show=({"query": 4, "key": 0}, {"query": 4, "key": 3}, {"query": 4, "key": 4}),
        waits=("line",),
        without=("checks", "more"),
    ),
    Step(
        "The store is a cache: no key is computed twice. Without it, each step computes the keys of all words so far. "
        "Press Step up to the last word, and watch by how much each bar grows.",
        "At word 100, how long is the lower bar?",
        ("200", "5,050", "800"),
        1,
        "1 + 2 + … + 100 = 5,050 keys without a cache. With it, each is computed once: 100.",
        "After 8 words it is 1 + 2 + … + 8 = 36. By how much does it grow at word 9, and at word 100?",
        {"view": 0, "plan": [1] * 8, "chunk": 3, "store": 0, "origin": 0, "more": False},
        moves=("chunk",),
        show=({"chunk": 0}, {"chunk": 3}, {"chunk": 7}),
        without=("checks", "more"),
    ),
    Step(
        "A store that grows fills the memory. A rolling window holds only the last three tokens (words), in three "
        "slots. Older ones are crossed out: no later query sees them.",
        "Which slot will token 7 take?",
        ("0", "1", "2"),
        1,
        "7 mod 3 = 1: it overwrites token 4, so query 7 reads the words 5, 6 and 7 only.",
        "Press Step and look for token 7.",
        {"view": 0, "plan": PROMPT, "chunk": 3, "store": 1, "origin": 0, "more": True},
        moves=("chunk",),
        show=({"chunk": 4}, {"slot": 1, "key": 7}),
        waits=("line",),
        without=("plan", "view", "checks", "saved", "more"),
    ),
    Step(
        "Many texts share one memory, so it is cut into pages of three slots. The table 2, 0, 1 names this text’s "
        "pages in order: its first three tokens lie in page 2. The prompt of four tokens is stored.",
        "In which page will token 6 lie?",
        ("0", "1", "2"),
        1,
        "Pages 2 and 0 hold the tokens 0 to 5. Token 6 opens the table’s third page: 6 // 3 = 2, and table[2] = 1.",
        "Press Step three times and point at token 6.",
        {"view": 0, "plan": PROMPT, "chunk": 0, "store": 2, "origin": 0, "more": True},
        moves=("chunk",),
        show=({"chunk": 1}, {"chunk": 2}, {"chunk": 3}, {"key": 6}),
        waits=("line",),
        without=("plan", "view", "checks", "saved", "more"),
    ),
    Step(
        "RoPE turns queries and keys by their positions; a score depends on the distance between the two. Here they "
        "count on: 0, 1, 2 … Suppose that each chunk (a step's words) counted from 0 again.",
        "Which score of query 5 would stay right?",
        ("with key 5", "with keys 0 to 3", "none"),
        0,
        "The distance to itself is 0 either way; all others change.",
        "Choose “every chunk from 0”: wrong scores get the full color, and the last line has the right ones.",
        {"view": 1, "plan": PROMPT, "chunk": 2, "store": 0, "origin": 0, "more": True},
        moves=("origin",),
        show=({"origin": 1}, {"query": 5, "key": 0}, {"query": 5, "key": 3}, {"query": 5, "key": 5}),
        without=("plan", "store", "checks", "saved", "more"),
    ),
    Step(
        "No cut: all eight tokens are computed at once, in one chunk. Point at a weight. Then tick a cut, press Step "
        "until its row is there, and point at it again.",
        "Does the weight depend on the cuts?",
        ("yes", "no"),
        1,
        "Without a cache, cuts change how much is computed again. The weights never change: each query reads the same "
        "keys.",
        "Compare w[5, 2] before and after a cut.",
        {"view": 0, "plan": [8], "chunk": 0, "store": 0, "origin": 0, "more": True},
        moves=("plan", "chunk"),
        show=({"query": 5, "key": 2}, {"plan": [4, 4], "chunk": 1}, {"query": 5, "key": 2}),
        waits=("signs",),
        without=("store", "view"),
    ),
)
