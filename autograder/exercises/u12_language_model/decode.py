"""From ids back to text, byte by byte."""

import unicodedata

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


def _decoding(read=lambda whole: whole.decode("utf-8", "replace"), join=lambda a, b: a + b, base=len, missing=b""):
    def wrong(ids, merges, byte_of):
        known = {i: bytes([b]) for i, b in enumerate(byte_of)}
        for rank, (a, b) in enumerate(merges):
            known[base(byte_of) + rank] = join(known.get(a, missing), known.get(b, missing))
        return read(b"".join(known.get(i, missing) for i in ids))

    return wrong


def _token_by_token(ids, merges, byte_of):
    return "".join(decode([i], merges, byte_of) for i in ids)


def _ids_as_bytes(ids, merges, byte_of):
    spelled = [bytes([i]) for i in range(len(byte_of))]
    for a, b in merges:
        spelled.append(spelled[a] + spelled[b])
    return b"".join(spelled[i] for i in ids).decode("utf-8", "replace")


def _one_level(ids, merges, byte_of):
    n = len(byte_of)
    flat = [j for i in ids for j in (merges[i - n] if i >= n else (i,))]
    return bytes(byte_of[j] for j in flat if j < n).decode("utf-8", "replace")


def _merges_dropped(ids, merges, byte_of):
    return bytes(byte_of[i] for i in ids if i < len(byte_of)).decode("utf-8", "replace")


def _with_spaces(ids, merges, byte_of):
    return " ".join(decode([i], merges, byte_of) for i in ids)


def _as_bytes(ids, merges, byte_of):
    return list(decode(ids, merges, byte_of).encode())


def _characters(ids, merges, byte_of):
    return _decoding(read=lambda whole: whole.decode("latin-1"))(ids, merges, byte_of)


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


EXERCISE = Exercise(
    id="bpe.decode",
    title="Bytes, then text",
    points=1,
    difficulty=2,
    minutes=6,
    signature="decode(ids, merges, byte_of)",
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
    mutants=[
        Mutant(
            "token_by_token",
            _token_by_token,
            "Each token is read by itself, so a character whose bytes lie in two tokens is lost. Join all bytes first.",
        ),
        Mutant(
            "strict",
            _decoding(read=lambda whole: whole.decode()),
            'Bytes that are no character raise an error. A model may write such: decode with errors="replace".',
        ),
        Mutant(
            "ignored",
            _decoding(read=lambda whole: whole.decode("utf-8", "ignore")),
            'Bytes that are no character vanish. errors="replace" puts U+FFFD there, so that one sees it.',
        ),
        Mutant(
            "stripped",
            _decoding(read=lambda whole: whole.decode("utf-8", "replace").strip()),
            "Spaces and line ends around the text are lost. They are bytes of tokens: return the text as it is.",
        ),
        Mutant(
            "normalized",
            _decoding(read=lambda whole: unicodedata.normalize("NFKC", whole.decode("utf-8", "replace"))),
            "Characters are replaced by similar ones, such as ² by 2. Decode the bytes, and change nothing else.",
        ),
        Mutant(
            "one_character_each",
            _characters,
            'Each byte becomes a character. In UTF-8 some take two or more: bytes(…).decode("utf-8", …).',
        ),
        Mutant(
            "ids_as_bytes",
            _ids_as_bytes,
            "Ids are taken for bytes. Which byte an id stands for is in the table: byte_of[id].",
        ),
        Mutant(
            "one_level",
            _one_level,
            "Only one merge is taken apart. What it joins may be merges again: go on down to bytes.",
        ),
        Mutant(
            "merges_dropped",
            _merges_dropped,
            "Tokens that merges made are left out. Token len(byte_of) + i is made of the pair merges[i].",
        ),
        Mutant(
            "swapped",
            _decoding(join=lambda a, b: b + a),
            "The halves of each merge are exchanged. The pair's first id comes first.",
        ),
        Mutant(
            "from_256",
            _decoding(base=lambda byte_of: 256, missing=None),
            "Merges are looked up from 256 on. The first one makes the id behind the bytes: len(byte_of).",
        ),
        Mutant(
            "one_too_far",
            _decoding(base=lambda byte_of: len(byte_of) + 1),
            "Merges are one off. The ids 0 to len(byte_of) − 1 are bytes, and merge 0 makes len(byte_of).",
        ),
        Mutant(
            "first_half",
            _decoding(join=lambda a, b: a),
            "Of each merge only the first half is written. A token is the bytes of both.",
        ),
        Mutant(
            "second_half",
            _decoding(join=lambda a, b: b),
            "Of each merge only the second half is written. A token is the bytes of both.",
        ),
        Mutant(
            "with_spaces",
            _with_spaces,
            "There are spaces between the tokens. Spaces are bytes like others and stand in the tokens already.",
        ),
        Mutant("as_bytes", _as_bytes, "These are bytes, not text. Decode them as UTF-8."),
    ],
)
