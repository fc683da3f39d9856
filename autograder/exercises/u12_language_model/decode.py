"""From ids back to text, byte by byte."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call


def decode(ids, merges, byte_of):
    """Bytes of all tokens, joined before they are read."""
    spelled = [bytes([b]) for b in byte_of]
    for a, b in merges:
        spelled.append(spelled[a] + spelled[b])
    return b"".join(spelled[i] for i in ids).decode("utf-8", errors="replace")


def decode_by_stack(ids, merges, byte_of):
    """Correct: the last merge is taken apart until only bytes are left."""
    left, out = list(ids)[::-1], bytearray()
    while left:
        i = left.pop()
        if i < len(byte_of):
            out.append(byte_of[i])
        else:
            a, b = merges[i - len(byte_of)]
            left += [b, a]
    return str(out, "utf-8", "replace")


ACCENT, SQUARE = "é".encode(), "²".encode()  # two bytes each: 195, 169 and 194, 178
LETTERS = b" abcdefghijklmnopqrstuvwxyz"


def _plain(g: Source) -> Program:
    """Random letters, shuffled ids, merges of merges."""
    byte_of = [LETTERS[g.integer(0, len(LETTERS))] for _ in range(8)]
    merges = [(g.integer(0, 8), g.integer(0, 8)), (g.integer(0, 8), 8), (9, 8)]
    return call([g.integer(0, 11) for _ in range(9)] + [10], merges, byte_of)


def _accents(g: Source) -> Program:
    """Characters of two bytes that lie in two tokens: the first ends with 195, the second begins with 169."""
    program = Program()
    for character, around in ((ACCENT, _two(g)), (SQUARE, b" \n")):
        byte_of = [around[0], *character, around[1], LETTERS[g.integer(1, len(LETTERS))]]
        program.call([0, 5, 6, 4, 3], [(3, 1), (2, 0)], byte_of)
    return program


def _two(g: Source) -> bytes:
    return bytes(LETTERS[g.integer(1, len(LETTERS))] for _ in range(2))


def _broken(g: Source) -> Program:
    a, b = _two(g)
    byte_of = [a, *ACCENT, b]
    return call([1, 0, 3], [], byte_of).call([0, 3, 2, 0], [], byte_of).call([3, 4, 0], [(1, 3)], byte_of)


def _first_merge_at(base, missing):
    """Merges that make ids from base(byte_of) on; ``missing`` stands for ids that nothing makes."""

    def wrong(ids, merges, byte_of):
        known = {i: bytes([b]) for i, b in enumerate(byte_of)}
        for rank, (a, b) in enumerate(merges):
            known[base(byte_of) + rank] = known.get(a, missing) + known.get(b, missing)
        return b"".join(known.get(i, missing) for i in ids).decode("utf-8", "replace")

    return wrong


MISTAKES = [
    *changes(
        decode,
        """
token_by_token: b"".join(spelled[i] → "".join(spelled[i].decode("utf-8", errors="replace")
; ids).decode("utf-8", errors="replace") → ids)
    Each token is read by itself, so a character whose bytes lie in two tokens is lost. Join all bytes first.
strict: .decode("utf-8", errors="replace") → .decode()
    Bytes that are no character raise an error. A model may write such: decode with errors="replace".
ignored: "replace" → "ignore"
    Bytes that are no character vanish. errors="replace" puts U+FFFD there, so that one sees it.
stripped: errors="replace") → errors="replace").strip()
    Spaces and line ends around the text are lost. They are bytes of tokens: return the text as it is.
normalized: return b → import unicodedata; return unicodedata.normalize("NFKC", b
; errors="replace") → errors="replace"))
    Characters are replaced by similar ones, such as ² by 2. Decode the bytes, and change nothing else.
one_character_each: .decode("utf-8", errors="replace") → .decode("latin-1")
    Each byte becomes a character. In UTF-8 some take two or more: bytes(…).decode("utf-8", …).
ids_as_bytes: bytes([b]) for b in byte_of → bytes([i]) for i in range(len(byte_of))
    Ids are taken for bytes. Which byte an id stands for is in the table: byte_of[id].
one_level: spelled[a] + spelled[b] → bytes(byte_of[i] for i in (a, b) if i < len(byte_of))
    Only one merge is taken apart. What it joins may be merges again: go on down to bytes.
merges_dropped: for i in ids → for i in ids if i < len(byte_of)
    Tokens that merges made are left out. Token len(byte_of) + i is made of the pair merges[i].
swapped: spelled[a] + spelled[b] → spelled[b] + spelled[a]
    The halves of each merge are exchanged. The pair's first id comes first.
""",
    ),
    Mutant(
        "from_256",
        _first_merge_at(lambda byte_of: 256, missing=None),
        "Merges are looked up from 256 on. The first one makes the id behind the bytes: len(byte_of).",
    ),
    Mutant(
        "one_too_far",
        _first_merge_at(lambda byte_of: len(byte_of) + 1, missing=b""),
        "Merges are one off. The ids 0 to len(byte_of) − 1 are bytes, and merge 0 makes len(byte_of).",
    ),
    *changes(
        decode,
        """
first_half: spelled[a] + spelled[b] → spelled[a]
    Of each merge only the first half is written. A token is the bytes of both.
second_half: spelled[a] + spelled[b] → spelled[b]
    Of each merge only the second half is written. A token is the bytes of both.
with_spaces: b"".join(spelled[i] → " ".join(spelled[i].decode("utf-8", errors="replace")
; ids).decode("utf-8", errors="replace") → ids)
    There are spaces between the tokens. Spaces are bytes like others and stand in the tokens already.
as_bytes: return b → return list(b ; errors="replace") → errors="replace").encode())
    These are bytes, not text. Decode them as UTF-8.
""",
    ),
]

EXERCISE = Exercise(
    id="bpe.decode",
    title="Bytes, then text",
    points=1,
    difficulty=2,
    minutes=6,
    reference=decode,
    alternatives=[decode_by_stack],
    cases=[
        Case(
            "by hand",
            "bytes of c, a, t; merge (1, 2) makes at, so 0 3 is cat",
            lambda g: call([0, 3], [(1, 2)], [99, 97, 116]),
        ),
        Case("letters", "ten ids, of which some are merges of merges", _plain, weight=2),
        Case(
            "two bytes",
            "the two bytes of é, then of ² between spaces and line ends, lie in two tokens: join first, read then",
            _accents,
            weight=2,
        ),
        Case("half", "half an é, three times: the character U+FFFD in its place", _broken),
        Case("empty", "no ids: the empty text", lambda g: call([], [(0, 0)], [97]), weight=0),
    ],
    mutants=MISTAKES,
    equivalent="""
ids come as a list
    d9866bf35e alternative decode_by_stack, call: list(ids) → its argument
""",
)
