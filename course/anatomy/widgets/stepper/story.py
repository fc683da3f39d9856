"""The steps of CacheStepper."""

from ..tools.story import Step

PROMPT = [4, 1, 1, 1, 1]

STORY = (
    Step(
        "Four words are the prompt; then the text is written word by word: press Step. Each word's key and value go "
        "into the store. The newest word is the query; its row: the weights of the keys that it reads.",
        "How many keys does this step compute anew?",
        ("1", "4", "5"),
        0,
        "Only the cell in full color has a new key. The four tinted keys come from the store.",
        "Count the cells in full color, and read the legend.",
        {"view": 0, "plan": PROMPT, "chunk": 1, "store": 0, "origin": 0, "more": False},
        show=({"query": 4, "key": 0}, {"query": 4, "key": 3}, {"query": 4, "key": 4}),
        waits=("line",),
        without=("checks",),
    ),
    Step(
        "One word a step. Without a cache, a step computes the keys of all words anew; so the lower bar grows by 1, "
        "by 2, by 3 … Press Play: it begins again at the first word.",
        "At word 100, how long is the lower bar?",
        ("200", "5,050", "800"),
        1,
        "1 + 2 + … + 100 = 5,050 keys without a cache. With it, each is computed once: 100.",
        "After 8 words it is 1 + 2 + … + 8 = 36. By how much does it grow at word 9, and at word 100?",
        {"view": 0, "plan": [1] * 8, "chunk": 7, "store": 0, "origin": 0, "more": False},
        moves=("chunk",),
        show=({"chunk": 0}, {"chunk": 3}, {"chunk": 7}),
        without=("checks",),
    ),
    Step(
        "A store that grows fills the memory. A rolling window of three slots holds the last three tokens. Older ones "
        "are crossed out: no later query sees them. “Step” writes the next.",
        "Which slot will token 7 take?",
        ("0", "1", "2"),
        1,
        "7 mod 3 = 1: it overwrites token 4, so query 7 reads the words 5, 6 and 7 only.",
        "Press Step and look for token 7.",
        {"view": 0, "plan": PROMPT, "chunk": 3, "store": 1, "origin": 0, "more": True},
        moves=("chunk",),
        show=({"chunk": 4}, {"slot": 1, "key": 7}),
        waits=("line",),
        without=("plan", "view", "checks"),
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
        without=("plan", "view", "checks"),
    ),
    Step(
        "Each query and key is turned by an angle, its position; a score depends on the distance of the two positions. "
        "Now every chunk counts from 0. The last line has the right scores.",
        "Which score of query 5 is still right?",
        ("with key 5", "with keys 0 to 3", "none"),
        0,
        "The distance to itself is 0 either way; all others have changed.",
        "Right scores are tinted, others have the full color. Point at one.",
        {"view": 1, "plan": PROMPT, "chunk": 2, "store": 0, "origin": 1, "more": True},
        show=({"query": 5, "key": 0}, {"query": 5, "key": 3}, {"query": 5, "key": 5}),
        without=("plan", "store"),
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
        without=("store", "view", "checks"),
    ),
)
