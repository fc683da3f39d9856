"""Byte-level byte-pair encoding: learn merges, encode, decode, and the file that Hugging Face's library reads.

A text is split into words; a word is its UTF-8 bytes; the most frequent pair of neighbors becomes a new token, again
and again. Any text can be encoded, because the 256 bytes are tokens themselves.

Ids are those of the library ``tokenizers``: bytes come first, in the order of the characters that represent them, then
one id per merge. If two pairs are equally frequent, the smaller pair of ids is merged.

Sources: Gage 1994, "A New Algorithm for Data Compression"; Sennrich, Haddow and Birch 2015, arXiv:1508.07909;
byte level and the split into words, Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

Pair = tuple[int, int]

# GPT-2's split, with ASCII classes instead of \p{L} and \p{N}, which the standard library lacks. A word includes the
# space before it, so that "the" within a line is one token with its space.
SPLIT = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def printable_bytes() -> list[str]:
    """For each of the 256 bytes, the character that represents it in a vocabulary file.

    Printable bytes represent themselves; the others, including the space, get the characters from U+0100 on, in order.
    """
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in shown else chr(next(spare)) for byte in range(256)]


CHARACTERS = printable_bytes()
IDS_OF_BYTES = [sorted(CHARACTERS).index(character) for character in CHARACTERS]
"""Byte → id: the rank of its character among all 256."""


def words(text: str) -> list[str]:
    """The words to be encoded one by one; joined, they give the text again."""
    return SPLIT.findall(text)


def byte_ids(word: str) -> list[int]:
    """Ids of a word's UTF-8 bytes, before any merge."""
    return [IDS_OF_BYTES[byte] for byte in word.encode()]


def merged(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """``ids`` with each ``pair`` of neighbors replaced by ``new``, from the left: a a a becomes aa a."""
    first, second = pair
    out: list[int] = []
    i = 0
    while i < len(ids):
        if ids[i] == first and i + 1 < len(ids) and ids[i + 1] == second:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def train(text: str, n_merges: int) -> list[Pair]:
    """Learns the first ``n_merges`` merges from the text; merge number i makes the token 256 + i.

    Counts are updated instead of recomputed: a merge affects only the words that contain its pair.
    Returns: fewer merges if no pair is left. Raises: ValueError when n_merges is negative.
    """
    if n_merges < 0:
        raise ValueError(f"n_merges must not be negative, got {n_merges}")
    counted = Counter(words(text))
    times = list(counted.values())
    spelled = [byte_ids(word) for word in counted]
    pairs: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)  # the words that contain a pair

    def put(index):
        for pair in zip(spelled[index], spelled[index][1:], strict=False):
            pairs[pair] += times[index]
            where[pair].add(index)

    def take(index):
        for pair in zip(spelled[index], spelled[index][1:], strict=False):
            pairs[pair] -= times[index]
            where[pair].discard(index)

    for index in range(len(spelled)):
        put(index)
    merges: list[Pair] = []
    while len(merges) < n_merges:
        most = max(pairs.values(), default=0)
        if not most:
            break
        best = min(pair for pair, count in pairs.items() if count == most)
        for index in list(where[best]):
            take(index)
            spelled[index] = merged(spelled[index], best, 256 + len(merges))
            put(index)
        merges.append(best)
    return merges


class BytePairEncoding:
    """Converts text to ids and back, with merges as ``train`` returns them.

    Raises: ValueError when a merge joins tokens that do not exist yet.
    """

    def __init__(self, merges: Iterable[Pair]):
        self.merges: list[Pair] = [(a, b) for a, b in merges]
        self.rank = {pair: rank for rank, pair in enumerate(self.merges)}
        self.bytes = [b""] * 256
        for byte, token in enumerate(IDS_OF_BYTES):
            self.bytes[token] = bytes([byte])
        for rank, (a, b) in enumerate(self.merges):
            if not 0 <= min(a, b) <= max(a, b) < 256 + rank:
                raise ValueError(f"merge {rank} joins {a} and {b}, but ids end at {255 + rank} before it")
            self.bytes.append(self.bytes[a] + self.bytes[b])
        self._known: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """Size of the vocabulary."""
        return len(self.bytes)

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        return [token for word in words(text) for token in self._encode_word(word)]

    def _encode_word(self, word):
        if word not in self._known:
            ids = byte_ids(word)
            # Merges apply in the order in which they were learned, not from the left.
            while len(ids) > 1:
                first = min(zip(ids, ids[1:], strict=False), key=lambda pair: self.rank.get(pair, len(self.rank)))
                if first not in self.rank:
                    break
                ids = merged(ids, first, 256 + self.rank[first])
            self._known[word] = ids
        return self._known[word]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not valid UTF-8, such as half a character, become U+FFFD."""
        return b"".join(self.bytes[token] for token in ids).decode(errors="replace")

    def spelled(self) -> list[str]:
        """For each id, its bytes as printable characters: " the" is Ġthe."""
        return ["".join(CHARACTERS[byte] for byte in token) for token in self.bytes]


def tokenizer_json(merges: Sequence[Pair]) -> dict[str, Any]:
    """Contents of a ``tokenizer.json``, which ``tokenizers.Tokenizer.from_file`` reads.

    Raises: ValueError when two merges spell the same token: such a file identifies tokens only by their spelling.
    """
    spelled = BytePairEncoding(merges).spelled()
    if len(set(spelled)) < len(spelled):
        raise ValueError("two merges spell the same token, which a vocabulary file cannot hold")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(spelled)},
            "merges": [[spelled[a], spelled[b]] for a, b in merges],
        },
    }
