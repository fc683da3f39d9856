# %% [markdown]
# # It speaks
#
# **You will be able to**
#
# - build a model that only counts, and measure models in bits per byte;
# - turn text into tokens (BPE), and choose the next one;
# - write the loop that generates, with a cache, padded batches and a stop token;
# - let your own parts speak, break, stretch and time them;
# - in the extension: find the head that copies.
#
# **Prerequisites:** units 01, 06, 07, 08 and 11. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Jane Austen's six novels are 4 MB of text. Two programs may read in them for a short while. One only counts which letter follows which five letters. The other is a Transformer, and trains.
#
# Then both read pages that were kept back, and pay for each letter: $-\log_2 p$ bits if they gave it the probability $p$. Knowing nothing, all 256 bytes alike, costs 8 bits per byte.

# %% setup=true
import json
import math
import time
from collections import Counter

import matplotlib.pyplot as plt
import torch
from anatomy import case, check, parts, predict, progress, quiz, reveal, toys
from anatomy.experiments import breaking, induction, longer_text, recorded, show_large, speaking, speed_of_speech, where
from anatomy.language import corpus, shipped, training
from anatomy.models.compare import compare_checkpoint
from anatomy.plots import described, use_style
from anatomy.widgets import AttentionExplorer

# %%
use_style()

# %%
predict("speech.p1", "A few seconds of reading each. Who pays fewer bits for the pages kept back?",
        ["the one that counts", "the Transformer", "both the same, within 0.1"])

# %% [markdown]
# Keep your guess: in section 5 both have read.

# %% [markdown]
# ## 1. A model that counts
#
# What comes after **r** in *abracadabra*? Twice an **a**, never anything else. So is **a** certain? After two sightings nobody would say so. Some probability must be left for what comes after *shorter* contexts, and some of that for what was never seen at all.

# %% [markdown]
# ### Worked example
#
# The **context** is the text just before a character. **Witten–Bell** mixes each context with the next shorter one, whose probability is $p$ on the right. With $n$ characters seen after the context, $u$ of them different:
#
# $$p \leftarrow \frac{\text{count} + u \cdot p}{n + u}, \qquad \text{start: } p = \tfrac{1}{256}$$
#
# **a** after **r**. The empty context saw 11 letters, 5 kinds, **a** five times: $(5 + 5/256)/16 = 0.314$. The context *r* saw 2 letters, 1 kind: $(2 + 1 \cdot 0.314)/3 = 0.771$.

# %%
p = (5 + 5 / 256) / (11 + 5)
print(f"{p:.3f}, then {(2 + 1 * p) / (2 + 1):.3f}")

# %% [markdown]
# The more often a context was seen, the more its own counts weigh. The more *different* things followed it, the less it is believed. An unknown context says nothing, and $p$ stays as it is.

# %% [markdown] statement="ngram.probability"
# A model of order $N$ looks at $N - 1$ characters of context.
#
# - `count_contexts(text, order)`: a dict from each context of 0 to `order` − 1 characters to a dict from character to count. The first characters have only shorter contexts. An order below 1 raises a `ValueError`.
# - `probability(counts, context, char)`: mixes ever longer ends of `context`, from the empty one to the first never seen.
# - `bits_per_byte(counts, text, order)`: the mean of $-\log_2 p$ of the characters, each after the `order` − 1 before it.

# %% exercise="ngram.probability"
def count_contexts(text, order):
    """{context: {character: count}}"""
    ### BEGIN SOLUTION
    if order < 1:
        raise ValueError(f"the order is at least 1, got {order}")
    counts = {}
    for i, char in enumerate(text):
        for k in range(min(i, order - 1) + 1):
            seen = counts.setdefault(text[i - k:i], {})
            seen[char] = seen.get(char, 0) + 1
    return counts
    ### END SOLUTION

def probability(counts, context, char):
    """Witten and Bell's mixture, a float."""
    ### BEGIN SOLUTION
    p = 1 / 256
    for k in range(len(context) + 1):
        seen = counts.get(context[len(context) - k:])
        if seen is None:
            break
        p = (seen.get(char, 0) + len(seen) * p) / (sum(seen.values()) + len(seen))
    return p
    ### END SOLUTION

def bits_per_byte(counts, text, order):
    """Mean cost of a character of an ASCII text, a float."""
    ### BEGIN SOLUTION
    return -sum(math.log2(probability(counts, text[max(0, i - order + 1):i], c)) for i, c in enumerate(text)) / len(text)
    ### END SOLUTION

# %% [markdown] hints="ngram.probability"
# 1. In *abracadabra*, order 2: which contexts does the first **b** have, and what does each count? For the mixture, follow the worked example one line at a time.
# 2. Count: for each place `i` and each length `k` that fits, `text[i - k:i]` saw `text[i]`. Mixture: for `k` from 0 to `len(context)`, look up the last `k` characters, stop at `None`, else one line of the formula. Mind `context[-0:]`: that is everything.
# 3. `seen = counts.setdefault(text[i - k:i], {})`; `n, u = sum(seen.values()), len(seen)`; `p = (seen.get(char, 0) + u * p) / …`; the context of place `i` is `text[max(0, i - order + 1):i]`.

# %% [markdown] worth="ngram.probability"
# Claude Shannon asked people to guess letters in 1951, and put printed English between 0.6 and 1.3 bits a letter. Compression programs use such mixtures of contexts to this day: fewer bits are a smaller file.

# %% [markdown]
# ### It speaks, a little
#
# Read a tenth of the novels. How many bits do the first of the pages kept back cost, with orders 1 to 6?

# %%
text, kept_back = corpus.training_text()[:400_000], corpus.held_out_text()[:10_000]
start = time.perf_counter()
counts = count_contexts(text, 6)
print(f"{time.perf_counter() - start:.1f} s to count {len(text):,} letters")
letters = sorted(counts[""])
bits = [bits_per_byte(counts, kept_back, order) for order in range(1, 7)]
print([round(b, 2) for b in bits])

# %%
def continue_by_counting(text, n, order, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(n):
        p = [probability(counts, text[len(text) - order + 1:], char) for char in letters]
        text += letters[torch.multinomial(torch.tensor(p), 1, generator=generator)]
    return text

# %%
for order in (1, 3, 6):
    print(f"order {order}:", continue_by_counting("It was ", 120, order).replace("\n", " "))

# %% [markdown]
# Words, even pieces of sentences, from a table. With all of the text to count, the best order is {{language_model.ngram.order}}, and pays **{{language_model.ngram.best:.2f}} bits per byte**. That is the mark to beat.

# %% [markdown]
# ## 2. From bytes to tokens
#
# A Transformer could read bytes. But *the* is three of them, and each costs a step. **Byte-pair encoding** finds the pairs that stand together most often, and gives each an id of its own. Any text can be written, because the 256 bytes stay.

# %% [markdown]
# ### Worked example
#
# *abra* twice, *ca* and *da*, as ids: a 0, b 1, c 2, d 3, r 4. The next id is 5.
#
# | pair | ab | br | ra | ca | da |
# |---|---|---|---|---|---|
# | count | 2 | 2 | 2 | 1 | 1 |
#
# Three are equal: (0, 1) is the smallest pair, so **ab** becomes 5, and *abra* is 5 4 0. Now (4, 0) and (5, 4) have 2: **ra** becomes 6. Then *abra* is 5 6, and (5, 6) becomes 7.

# %% [markdown] statement="bpe.train"
# - `merge(ids, pair, new)` returns a list with each `pair` of neighbors replaced by `new`, from the left: of 7 7 7 the first two.
# - `train(words, n_merges, base=256)` returns the list of merged pairs. `words` maps words, tuples of ids, to counts. Within words all neighbors count: 7 7 7 holds (7, 7) twice. Merge the most frequent pair, of equal ones the smallest, in all words; merge `i`, from 0, makes `base + i`. When no pair is left, stop.

# %% exercise="bpe.train"
def merge(ids, pair, new):
    """ids with each pair replaced, a list."""
    ### BEGIN SOLUTION
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i:i + 2]) == tuple(pair):
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out
    ### END SOLUTION

def train(words, n_merges, base=256):
    """The pairs in the order in which they were merged."""
    ### BEGIN SOLUTION
    words, merges = dict(words), []
    for new in range(base, base + n_merges):
        pairs = Counter()
        for ids, count in words.items():
            for pair in zip(ids, ids[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = {tuple(merge(ids, best, new)): count for ids, count in words.items()}
    return merges
    ### END SOLUTION

# %% [markdown] hints="bpe.train"
# 1. In the example, what is counted, what is chosen, what is rewritten? Three steps, as often as there are merges.
# 2. `merge`: walk with an index, two ids on after a pair, one otherwise. `train`: add each word's count to each of its pairs (`zip(ids, ids[1:])`), take the best, merge it in every word, count anew.
# 3. `best = min(pairs, key=lambda pair: (-pairs[pair], pair))`, `merges.append(best)`, `words = {tuple(merge(ids, best, new)): count for …}`.

# %% [markdown] worth="bpe.train"
# Philip Gage invented it in 1994 to compress files; [Sennrich et al. 2015](https://arxiv.org/abs/1508.07909) gave it to translation, GPT-2 to bytes. Trainers in Rust keep the counts up to date instead of counting anew: only words that held the pair change.

# %% [markdown]
# ### See it
#
# The library `tokenizers` first cuts text into words, each with the space in front of it. Then each byte gets a printable name, and an id. Both steps are given:

# %%
tokenizer = shipped.tokenizer()
vocabulary = tokenizer.get_vocab()

def spelled(text):
    """Words of a text, each as the names of its bytes: Ġ is a space."""
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]

spelled("It was a truth"), [vocabulary[name] for name in "Ġtruth"]

# %%
part, n_merges = text[:16_000], 768
words = Counter(tuple(vocabulary[name] for name in word) for word in spelled(part))
mine = train(words, n_merges)

# %%
names = [tokenizer.id_to_token(i) for i in range(256)]
for a, b in mine:
    names.append(names[a] + names[b])
print("first:", *names[256:286])
print("last: ", *names[-14:])

# %% [markdown]
# Pieces first, whole words soon. The last pairs occur only twice each, as over 150 others do: one wrong choice, and all ids after it differ. The library's trainer works in Rust, with another algorithm. Does it find the same pairs?

# %%
import tokenizers

theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
theirs.train_from_iterator([part], tokenizers.trainers.BpeTrainer(
    vocab_size=256 + n_merges, initial_alphabet=alphabet, show_progress=False))
found = [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]
same = sum((names[a], names[b]) == pair for (a, b), pair in zip(mine, found, strict=True))
print(f"{same} of {n_merges} merges are equal")

# %% [markdown] statement="bpe.encode"
# To encode a word, apply merges in the order in which they were learned, not from the left. With the merges (1, 2), then (0, 1), the word 0 1 2 is 0 3: (1, 2) came first.
#
# Return the list of ids. `merges[i]` makes `base + i`.

# %% exercise="bpe.encode"
def encode(ids, merges, base=256):
    """The ids of one word after all merges that fit, the oldest first."""
    ### BEGIN SOLUTION
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    while len(ids) > 1:
        pair = min(zip(ids, ids[1:]), key=lambda pair: rank.get(pair, len(rank)))
        if pair not in rank:
            break
        ids = merge(ids, pair, base + rank[pair])
    return list(ids)
    ### END SOLUTION

# %% [markdown] hints="bpe.encode"
# 1. Of all neighbors in the word, which one was learned first? Replace it, and look again.
# 2. A dict from pair to rank. While the word has two ids or more: the pair of lowest rank, where unknown pairs rank last. If even that one is unknown, the word is done; else `merge`.
# 3. `pair = min(zip(ids, ids[1:]), key=lambda pair: rank.get(pair, len(rank)))`, then `ids = merge(ids, pair, base + rank[…])`.

# %% [markdown] worth="bpe.encode"
# A word's ids never depend on its neighbors, so a cache of words makes encoding fast. BERT's WordPiece goes another way: the longest known piece from the left.

# %% [markdown]
# Back to text: each id is bytes, and only all bytes together are text. The letter é is two bytes, 195 and 169, and a token may end between them.

# %%
bytes([195]).decode(errors="replace"), bytes([195, 169]).decode(errors="replace")

# %% [markdown] statement="bpe.decode"
# `byte_of[i]` is the byte that id `i` stands for; ids from `len(byte_of)` on are merges. Return the text, with U+FFFD where bytes are no character (`errors="replace"`).

# %% exercise="bpe.decode"
def decode(ids, merges, byte_of):
    """Text of ids, a str."""
    ### BEGIN SOLUTION
    spelled = [bytes([byte]) for byte in byte_of]
    for a, b in merges:
        spelled.append(spelled[a] + spelled[b])
    return b"".join(spelled[i] for i in ids).decode(errors="replace")
    ### END SOLUTION

# %% [markdown] hints="bpe.decode"
# 1. What does each id spell, in bytes? A merge joins two spellings that you have already.
# 2. A list of `bytes` objects, one per id: first from `byte_of`, then one for each merge in order. Join those of `ids`, and decode the whole once.
# 3. `spelled = [bytes([byte]) for byte in byte_of]`, `spelled.append(spelled[a] + spelled[b])`, `b"".join(…).decode(errors="replace")`.

# %% [markdown] worth="bpe.decode"
# That is why a chat window shows a � for a moment when a model writes an emoji: three or four bytes, and the first tokens hold only a part.

# %% [markdown]
# ### See it
#
# Your functions with the {{language_model.merges:,}} merges of the model that comes with the course, on all pages that were kept back:

# %%
merges = [(vocabulary[a], vocabulary[b]) for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]
known = {}

def to_ids(text):
    for word in set(spelled(text)) - set(known):
        known[word] = encode([vocabulary[name] for name in word], merges)
    return [i for word in spelled(text) for i in known[word]]

pages = corpus.held_out_text()
page_ids = to_ids(pages)
print("equal to the library's:", page_ids == tokenizer.encode(pages).ids, f"· {len(pages) / len(page_ids):.2f} bytes per token")

# %%
byte_of = [0] * 256
prints = {*range(33, 127), *range(161, 173), *range(174, 256)}  # bytes whose name is their own character
others = iter(range(256, 512))
for byte in range(256):
    byte_of[vocabulary[chr(byte if byte in prints else next(others))]] = byte
odd = "A café: 12.50 €, “isn't” it?\t中文"
decode(to_ids(odd), merges, byte_of) == odd, decode(page_ids, merges, byte_of) == pages

# %% [markdown]
# ## 3. Which token next?
#
# A model gives a logit for each of its tokens. Taking the largest each time is **greedy**, and soon runs in circles. Drawing from the softmax says odd things: a thousand unlikely tokens are together likely. So sort the tokens, the likeliest first, and turn three knobs, in this order:
#
# 1. **temperature** $t$: logits over $t$;
# 2. **top-k**: only the first $k$ stay, and their probabilities sum to 1 again;
# 3. **top-p**: of those, the first ones, as few as reach a sum of $p$.

# %% [markdown]
# ### Worked example
#
# Probabilities 1/2, 1/4, 1/8, 1/8 and top-p 0.6. The first has 0.5, not enough. With the second the sum is 0.75: it *crosses* 0.6, and stays. The rest goes, and 2/3 and 1/3 remain.

# %%
p = torch.tensor([0.5, 0.25, 0.125, 0.125])
before = p.cumsum(0) - p
kept = p * (before < 0.6)
kept / kept.sum()

# %% [markdown] statement="generate.distribution"
# Return the probabilities of the next token, in the shape and dtype of the logits; tokens that are cut have 0, the others sum to 1. For all rows, along the last axis.
#
# Tokens are ordered by their logits, of equal ones the lower id first, and both cuts keep a front of that order, its first tokens. At temperature 0 the very first has probability 1.
#
# A negative temperature, `top_k` below 1 and `top_p` outside (0, 1] raise a `ValueError`; None cuts nothing.

# %% exercise="generate.distribution"
def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    """logits (..., V) → probabilities (..., V)."""
    ### BEGIN SOLUTION
    if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError(f"temperature {temperature}, top_k {top_k}, top_p {top_p}")
    order = logits.argsort(dim=-1, descending=True, stable=True)
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, order[..., :1], 1.0)
    scaled = (logits / temperature).gather(-1, order)
    if top_k is not None:
        scaled[..., top_k:] = -math.inf
    if top_p is not None:
        share = scaled.softmax(-1)
        scaled = scaled.masked_fill(share.cumsum(-1) - share >= top_p, -math.inf)
    return torch.zeros_like(logits).scatter(-1, order, scaled.softmax(-1))
    ### END SOLUTION

# %% [markdown] hints="generate.distribution"
# 1. Sorted, both cuts are easy: everything from some place on goes. The worked example has the place for top-p. How do numbers get back to their ids?
# 2. `order = logits.argsort(dim=-1, descending=True, stable=True)`; gather the scaled logits in that order; set those from `top_k` on to −∞; softmax, and set those to −∞ before which the sum has reached `top_p`; softmax again, and `scatter` along `order`.
# 3. `share = scaled.softmax(-1)`, `scaled.masked_fill(share.cumsum(-1) - share >= top_p, -math.inf)`, `torch.zeros_like(logits).scatter(-1, order, …)`.

# %% [markdown] worth="generate.distribution"
# Top-p comes from [Holtzman et al. 2019](https://arxiv.org/abs/1904.09751), who saw that human text is rarely the likeliest: its tokens jump up and down in probability, and beam search's stay high.

# %%
for settings in ({}, {"temperature": 0.5}, {"top_k": 2}, {"temperature": 2.0, "top_p": 0.6}, {"temperature": 0}):
    print(settings, [round(v, 2) for v in distribution(p.log(), **settings).tolist()])

# %% [markdown]
# ## 4. The loop
#
# Read the prompt, pick a token, read that one, pick the next. Unit 08 gave the cache: each token is read **once**. Unit 11's decoder takes it, and a mask of real tokens:
#
# `logits, past = model(ids, real, past)`
#
# | | shape |
# |---|---|
# | `ids`: new tokens | $(B, T)$ |
# | `real`: past and new tokens, False for padding | $(B, S)$ |
# | `past`: what the last call returned, or None | |
# | `logits` | $(B, T, V)$ |

# %% [markdown]
# ### Worked example
#
# Two prompts, the shorter one padded on the *left*, so that every row's last token is at −1. `toys.decoder` is a tiny model of 16 tokens with that interface.

# %%
prompts = torch.tensor([[0, 0, 7], [3, 1, 4]])
real = torch.tensor([[False, False, True], [True, True, True]])
logits, past = toys.decoder(prompts, real)
new = logits[:, -1].argmax(-1)
print("next:", new.tolist(), "· stored:", tuple(past[0][0].shape))

# %% [markdown]
# The second step reads `new[:, None]` alone, with that `past`, and `real` one column longer: what was just written is real.

# %% [markdown] statement="generate.generate"
# Write up to `steps` tokens after each prompt and return $(B, T + n)$, prompts first. The model gets the whole prompt once, then one new token per row and step. `pick(logits)` takes the last token's logits $(B, V)$ and returns ids $(B)$.
#
# - A row that has *written* `stop` gets `pad` from then on; when all rows have, end. A stop token in the prompt is text like any other.
# - `real=None`: nothing is padding.

# %% exercise="generate.generate"
@torch.no_grad()
def generate(model, ids, steps, pick, real=None, stop=None, pad=0):
    """ids (B, T) int64, real (B, T) bool or None → (B, T + n) int64, n ≤ steps."""
    ### BEGIN SOLUTION
    new, past, done = ids, None, torch.zeros(len(ids), dtype=torch.bool)
    for _ in range(steps):
        if done.all():
            break
        logits, past = model(new, real, past)
        new = torch.where(done, pad, pick(logits[:, -1]))[:, None]
        ids = torch.cat([ids, new], dim=1)
        if real is not None:
            real = torch.cat([real, torch.ones_like(real[:, :1])], dim=1)
        if stop is not None:
            done = done | (new[:, 0] == stop)
    return ids
    ### END SOLUTION

# %% [markdown] hints="generate.generate"
# 1. Which four things change from step to step? The text, what is fed, the past, and `real`; with a stop token, who is done.
# 2. Start: feed all of `ids`, no past, nobody done. Each step: call the model, pick from `logits[:, -1]`, give `pad` to rows that are done, append the column, feed only that column next, add a column of True to `real`, and mark rows that wrote `stop`. End when all are done.
# 3. `logits, past = model(new, real, past)`, `new = torch.where(done, pad, pick(logits[:, -1]))[:, None]`, `done = done | (new[:, 0] == stop)`.

# %% [markdown] worth="generate.generate"
# In real servers a finished row does not wait: its place goes to the next request at once, *continuous batching* ([Orca](https://www.usenix.org/conference/osdi22/presentation/yu), vLLM).

# %% [markdown]
# ## 5. Your own parts
#
# `parts.mine` fetches an answer of yours from another notebook, if it passes its check. Unit 11's decoder holds your attention, norms, rotation and feed-forward. The checkpoint's weights go in by name, strictly:

# %%
Decoder = parts.mine("assembly.decoder")
c, weights = shipped.checkpoint()
model = Decoder(c)
model.load_state_dict(weights)
model = model.eval()
print(f"{sum(w.numel() for w in model.parameters()):,} parameters, {c['n_layers']} layers, "
      f"{c['n_heads']} heads on {c['n_kv_heads']} key-value heads")

# %% [markdown]
# Before it may speak, three debts. Does a cache change anything? Does padding?

# %%
x = torch.tensor(tokenizer.encode("It is a truth universally acknowledged").ids)[None]
with torch.no_grad():
    whole, _ = model(x)
    _, past = model(x[:, :5])
    rest, _ = model(x[:, 5:], past=past)
    padded, _ = model(torch.cat([torch.zeros(1, 3, dtype=torch.int64), x], 1), torch.arange(x.shape[1] + 3)[None] > 2)
print(f"largest differences: {(rest - whole[:, 5:]).abs().max():.0e} cached, {(padded[:, 3:] - whole).abs().max():.0e} padded,"
      f" in logits up to {whole.abs().max():.0f}")

# %% [markdown]
# And is it LLaMA? Hugging Face's `LlamaForCausalLM` gets the same file. Both read the same pages, once with padding, and then write nine tokens, the likeliest each time:

# %%
compare_checkpoint(model, shipped.folder(), torch.tensor(page_ids[:128]).view(2, 64))

# %% [markdown]
# ### From nothing, in a few seconds
#
# First without the checkpoint: the same `Decoder`, small and with random weights, reads the novels.

# %%
reading = torch.tensor(tokenizer.encode(text).ids)
start = time.perf_counter()
young, losses = breaking.train(Decoder, breaking.small(c), reading)
read = len(losses) * breaking.ROWS * breaking.CONTEXT
print(f"{time.perf_counter() - start:.1f} s for {len(losses)} steps, {read:,} tokens, some {read * len(text) // len(reading):,} letters")
print(f"loss {losses[0]:.2f} → {losses[-1]:.2f}")

# %%
draw = speaking.picker(distribution, seed=0, temperature=0.7)
_ = speaking.speak(generate, young, tokenizer, "It was", draw, n=50)

# %% [markdown]
# So much for some seconds of reading. (Prompts end without a space: it belongs to the next token.) What does it pay for the pages kept back, compared with counting?

# %%
page = torch.tensor(to_ids(kept_back))
n_bytes = len(tokenizer.decode(page[1:].tolist()).encode())
young_bits = training.bits_per_byte(young, page, n_bytes, breaking.CONTEXT)
print(f"counting, order 6: {bits[-1]:.2f} bits per byte · {len(losses)} steps of training: {young_bits:.2f}")

# %%
reveal("speech.p1",
       lambda: f"counting {min(bits):.2f}, the Transformer {young_bits:.2f} bits per byte",
       "A table of counts knows at once what it has seen. Training moves every weight a little at each step. Give it time.",
       answer=lambda: "the one that counts" if min(bits) < young_bits - 0.1 else
       "the Transformer" if young_bits < min(bits) - 0.1 else "both the same, within 0.1")

# %% [markdown]
# ### The trained one
#
# The checkpoint has {{language_model.millions:.1f}} million parameters. Each of three such models took {{language_model.minutes:.0f}} minutes on one core, its counts and samples included; it has read the novels {{language_model.epochs:.0f}} times. On all pages kept back it pays **{{language_model.shipped:.2f}} bits per byte**. The best count paid {{language_model.ngram.best:.2f}}.

# %%
record = recorded("language_model")
mark = min(record["ngrams"]["probe"])
ends = [row["curve"][-1]["held_out"] for row in record["rows"]]
with described("Bits per byte on a part of the pages kept back, over training: the models end at {low:.2f} to "
               "{high:.2f}, the best count pays {mark:.2f}.", low=min(ends), high=max(ends), mark=mark):
    for row in record["rows"]:
        steps, held_out = zip(*((point["step"], point["held_out"]) for point in row["curve"] if point["step"]))
        plt.plot(steps, held_out, label=f"seed {row['seed']}")
    plt.axhline(mark, color="gray", ls="--", label="the best count")
    plt.xlabel("step"), plt.ylabel("bits per byte"), plt.legend(), plt.title("recorded: " + where(record), fontsize=9)
show_large("language_model")

# %% [markdown]
# Now the same code speaks, and your own tokenizer reads and spells for it:

# %%
class Mine:
    encode = staticmethod(to_ids)
    decode = staticmethod(lambda ids: decode(ids, merges, byte_of))

draw = speaking.picker(distribution, seed=1, temperature=0.7, top_p=0.95)
_ = speaking.speak(generate, model, Mine, "Elizabeth looked at Mr. Darcy", draw, n=80)

# %%
_ = speaking.candidates(model, Mine, "Elizabeth looked at Mr.", distribution, n=6)

# %% [markdown]
# ### Three at once
#
# Your loop can do more: prompts of different lengths go into one batch, the shorter ones padded on the left, and a row that has written the token of a new paragraph is done.

# %%
starts = [to_ids(words) for words in ("Emma was", "Mr. Knightley was the only man who", "It was on a wet day that")]
longest, paragraph = max(map(len, starts)), to_ids("\n")[-1]
padded = torch.tensor([[paragraph] * (longest - len(ids)) + ids for ids in starts])
real = torch.arange(longest) >= torch.tensor([[longest - len(ids)] for ids in starts])

# %%
draw = speaking.picker(distribution, seed=2, temperature=0.7, top_p=0.95)
for row in generate(model, padded, 80, draw, real, stop=paragraph, pad=paragraph):
    print(Mine.decode(row.tolist()).strip(), "\n")

# %% [markdown]
# ### See its heads
#
# What do its 16 heads look at? **Your** attention from unit 01 draws the weights of four short sentences that it was not trained on. Point along the small maps and look for a head that looks at the token before.

# %%
AttentionExplorer(parts.mine("attention.scaled_dot_product"))

# %% [markdown]
# Those were your tokenizer, your embeddings, your attention with your rotation, your cache and your loop. Of the library only the rule is left that cuts a text into words. Change the seed, the temperature and the prompt, and run it again.

# %%
predict("speech.p2", "Temperature 0, the same prompt, 60 tokens. What will it write?",
        ["its best sentence", "the same words again and again", "nothing readable"])

# %%
greedy = speaking.speak(generate, model, tokenizer, "Elizabeth looked at Mr. Darcy", lambda logits: logits.argmax(-1), n=60)
triples = list(zip(tokenizer.encode(greedy).ids, tokenizer.encode(greedy).ids[1:], tokenizer.encode(greedy).ids[2:]))

# %%
reveal("speech.p2",
       lambda: f"of {len(triples)} groups of three tokens {len(triples) - len(set(triples))} came before",
       "The likeliest word leads back to where it was likeliest before. A little chance breaks the circle.",
       answer=lambda: "the same words again and again" if len(set(triples)) < 0.9 * len(triples) else "its best sentence")

# %% [markdown]
# ## 6. Break it
#
# Each part was put in with reasons. Take one out of the *trained* model, and see what it was worth. Whole, the model pays {{breaking.used.whole.loss:.2f}} nats per token (natural logarithms: a nat is 1.44 bits); guessing among {{language_model.vocabulary:,}} tokens costs {{breaking.log_vocab:.2f}}.

# %%
predict("speech.p3", "Which one hurts most?",
        ["the mask is taken away", "queries and keys turn the wrong way", "the two key-value heads are exchanged"])

# %%
sample = torch.tensor(tokenizer.encode(pages[:6_000]).ids)
faults = ["no mask", "rotated backward", "no rotation", "key-value heads swapped", "no residual", "no norms"]
loss = {"whole": breaking.loss(model, sample)}
loss |= {name: breaking.loss(breaking.broken(model, c, name), sample) for name in faults}
with described("Loss of the whole model and of six broken ones: {told}",
               told=", ".join(f"{name} {value:.3g}" for name, value in loss.items())):
    breaking.compare(loss)

# %%
reveal("speech.p3",
       lambda: f"mask {loss['no mask']:.2f}, rotation {loss['rotated backward']:.2f}, heads {loss['key-value heads swapped']:.2f}",
       "Exchanged heads answer questions that were asked of others. Without the mask most of what a token sees is still right.",
       answer=lambda: {"no mask": "the mask is taken away", "rotated backward": "queries and keys turn the wrong way",
                       "key-value heads swapped": "the two key-value heads are exchanged"}[
                           max(("no mask", "rotated backward", "key-value heads swapped"), key=loss.get)])

# %%
backward = breaking.broken(model, c, "rotated backward")
_ = speaking.speak(generate, backward, tokenizer, "It was", speaking.picker(distribution, seed=1, temperature=0.7), n=40)

# %% [markdown]
# ### And if it learns without the mask?
#
# The trained model never learned to use the future. One that grows up without a mask will. So train the small model once more, on the same text, for as many steps, without a mask:

# %%
predict("speech.p4", "Trained without a mask, its training loss will be…", ["higher", "about the same", "much lower"])

# %%
open_eyed, without = breaking.train(Decoder, breaking.small(c), reading, "no mask")
with described("Loss over {steps} steps: with the mask it ends at {masked:.1f}, without at {leaking:.1f}.",
               steps=len(without), masked=losses[-1], leaking=without[-1]):
    plt.plot(losses, label="with the mask"), plt.plot(without, label="without")
    plt.xlabel("step"), plt.ylabel("nats per token"), plt.legend()

# %%
reveal("speech.p4",
       lambda: f"{losses[-1]:.2f} with the mask, {without[-1]:.2f} without",
       "The answer to each question stands one place to the right, and nothing keeps the model from reading it there.",
       answer=lambda: "much lower" if without[-1] < losses[-1] - 0.3 else "about the same")

# %%
_ = speaking.speak(generate, open_eyed, tokenizer, "It was", speaking.picker(distribution, seed=0, temperature=0.7), n=40)

# %% [markdown]
# ### Claim on trial
#
# > *"The lower the loss on held-out text, the better the model."*
#
# Held-out text it was. But in writing there is nothing to the right. So measure once more, where the next token is not there yet:

# %%
for name, m in (("with the mask", young), ("without", open_eyed)):
    print(f"{name:14} held-out loss {breaking.loss(m, sample, breaking.CONTEXT):.2f},"
          f" next token unseen {breaking.loss_unseen(m, sample, (8, 16, breaking.CONTEXT - 1)):.2f}")
show_large("breaking")

# %% [markdown] evidence="recorded: breaking, control: future"
# **Verdict: only if it has to answer the question that will be asked.** After {{breaking.small_steps}} steps the models without a mask pay {{breaking.learned.no_mask.loss:.2f}} on held-out text, those with one {{breaking.learned.whole.loss:.2f}} ({{breaking.fresh}} seeds each). Where the next token is not there to be read, it is {{breaking.learned.no_mask.unseen:.2f}} against {{breaking.learned.whole.unseen:.2f}}, and in {{breaking.learned.no_mask.knows_nothing}} of {{breaking.fresh}} runs more than guessing costs.
#
# Where a loss is too good to be true, something leaks. Look at the mask first (unit 07).

# %% [markdown]
# ## 7. Longer than it ever read
#
# It was trained on {{longer_text.trained}} tokens at a time. In unit 06 a memory game stood in for a language model; here is a real patient.
#
# ### Claim on trial: extrapolation, again
#
# > *"Natural extrapolation: the turn is defined for any $m$, so very long texts are supported."*

# %%
predict("speech.p5", "Read on to four times the trained length, without any cure. The loss of the last tokens will be…",
        ["lower: there is more text to go by", "the same", "higher"])

# %%
long = torch.tensor(tokenizer.encode(pages[:12_000]).ids)
curves = {"as trained": longer_text.by_place(model, long, 512)}
with described("Loss along 512 tokens: {trained:.2f} at the end of the trained length, {last:.2f} at the end.",
               trained=curves["as trained"][3], last=curves["as trained"][-1]):
    longer_text.draw(curves, trained=c["max_positions"])

# %% [markdown]
# ### Unit 06's cures
#
# Squeeze the places (position interpolation), or enlarge the base (NTK-aware). A third: a window, so that no token looks further back than in training. All in your own parts: the first divides the places that they get by 4, the others are one entry of the configuration each.

# %%
import copy

ntk_base = c["base"] * 4 ** (c["head_dim"] / (c["head_dim"] - 2))
stretched = Decoder({**c, "base": ntk_base})
_ = stretched.load_state_dict(weights)
squeezed = longer_text.squeeze(copy.deepcopy(model), 4)
windowed = Decoder({**c, "window": c["max_positions"]})
_ = windowed.load_state_dict(weights)

# %%
for name, patient in (("interpolated", squeezed), ("NTK-aware base", stretched), ("window", windowed)):
    curves[name] = longer_text.by_place(patient.eval(), long, 512)
    print(f"{name:15} first {curves[name][0]:.2f}, last {curves[name][-1]:.2f}")

# %%
with described("Loss along 512 tokens, as trained and with three cures; the last values are {told}.",
               told=", ".join(f"{name} {values[-1]:.2f}" for name, values in curves.items())):
    longer_text.draw(curves, trained=c["max_positions"])
show_large("longer_text")

# %%
reveal("speech.p5",
       lambda: f"from {curves['as trained'][3]:.2f} at the trained length to {curves['as trained'][-1]:.2f} at the end",
       "Slow pairs of numbers reach angles that training never showed, and scores of far keys come out as they may.",
       answer=lambda: "higher" if curves["as trained"][-1] > curves["as trained"][3] + 0.05 else
       "lower: there is more text to go by" if curves["as trained"][-1] < curves["as trained"][3] - 0.05 else "the same")

# %% [markdown] evidence="recorded: longer_text, control: length read"
# **Verdict: it runs, and what was learned does not carry over.** The shipped model pays {{longer_text.trained_end:.2f}} nats for the last 32 tokens of its trained length and {{longer_text.as_trained.end:.2f}} for those before token {{longer_text.tested}}. In {{longer_text.breaks}} of {{longer_text.models}} models, long texts cost over 0.1 more than in short pieces. With a cure these cost: larger base {{longer_text.ntk_aware_base.end:.2f}}, window {{longer_text.window.end:.2f}}, YaRN (unit 06) {{longer_text.yarn.end:.2f}}; places squeezed {{longer_text.interpolated.end:.2f}}, no cure. YaRN undoes that in {{longer_text.yarn.holds}} of {{longer_text.models}}, the window in {{longer_text.window.holds}}, the larger base in {{longer_text.ntk_aware_base.holds}}.

# %% [markdown] evidence="recorded: longer_text, control: length read"
# **With further training,** for which squeezed places are meant: after {{longer_text.tuning_steps}} steps they cost {{longer_text.interpolated_tuned.end:.2f}}, but the same steps without any cure bring {{longer_text.as_trained_tuned.end:.2f}}: in this small model the training does most of it.

# %% [markdown]
# ## 8. How fast should it speak?
#
# A token needs every weight once: read, multiplied, added. Unit 08 predicted a GPU's speed from bytes alone. Measure what one core can do, predict, then time the model.

# %%
machine = speed_of_speech.machine(speed_of_speech.weight_bytes(model))
by_bytes, by_flops = (1 / t for t in speed_of_speech.predicted(model, machine))
print(f"{machine.bytes_per_second / 1e9:.0f} GB/s allow {by_bytes:,.0f} tokens/s, {machine.flops_per_second / 1e9:.0f} GFLOP/s {by_flops:,.0f}")

# %%
predict("speech.p6", "The smaller number is the limit. Measured, your model writes…",
        ["about as fast", "about half as fast", "at least five times slower"])

# %%
x, argmax = torch.tensor([[5]]), lambda logits: logits.argmax(-1)
measured = speed_of_speech.seconds(lambda: generate(model, x, 40, argmax), 40)
hollow = Decoder(speed_of_speech.hollow(c)).eval()
empty = speed_of_speech.seconds(lambda: generate(hollow, x, 40, argmax), 40)
print(f"{1 / measured:,.0f} tokens/s, {speed_of_speech.calls(speed_of_speech.step(model))} calls per token")

# %%
reveal("speech.p6",
       lambda: f"{1 / measured:,.0f} tokens/s, {min(by_bytes, by_flops) * measured:.0f} times fewer than the limit",
       "Look for the rest below.",
       answer=lambda: "at least five times slower" if min(by_bytes, by_flops) * measured >= 5 else
       "about half as fast" if min(by_bytes, by_flops) * measured > 1.4 else "about as fast")

# %% [markdown]
# Where is the rest? The cell above timed a second, **hollow** model. It has the same layers and heads, but vectors of a few numbers: the same calls, next to nothing to compute.
#
# ### Claim on trial
#
# > *"Generating a token takes as long as reading the weights."*

# %%
print(speed_of_speech.verdict(speed_of_speech.Token(measured, 1 / by_bytes, 1 / by_flops, empty)))
show_large("speed_of_speech")

# %% [markdown] evidence="measured: speed_of_speech"
# **Verdict: not here, where calls rule; wider models come closer.** On the recorded machine the shipped model took {{speed_of_speech.own.ms:.2f}} ms a token, {{speed_of_speech.own.factor:.0f}} times what its bytes ask for; the hollow model alone took {{speed_of_speech.hollow_ms:.2f}} ms. With layers {{speed_of_speech.widest.width:,}} wide, as many of them, it is only {{speed_of_speech.widest.factor:.1f}} times.
#
# That is why compilers and CUDA graphs pay off for small models and small batches: they make fewer calls.

# %% [markdown]
# ## 9. Extension: the head that copies
#
# *… Mr. Bingley … Mr.* What next? A good guess: what came next the last time. A head that looks there, one place after an earlier *Mr.*, is an **induction head**. A tiny model shows it best: two layers of attention, one head each, on rows that repeat themselves.

# %% [markdown]
# ### Worked example
#
# Ids 7 8 7 8. At position 2, the 7 has stood at 0 before, so look one place after that: at position 1. At position 3, look at position 2. If the head gives 0.7 and 0.3 to these, its score is 0.5. Positions 0 and 1 hold tokens that never came before, and don't count.

# %% [markdown] statement="induction.score"
# Score each head, in the dtype of its weights. For every position $t$ whose token came before, add the weights that $t$ gives to $s + 1$, for all earlier places $s < t$ of that token. The score is the mean over those $t$, and 0 where no token came twice.

# %% exercise="induction.score"
def induction_score(weights, ids):
    """weights (H, T, T), query before key, causal; ids (T,) → (H,), in the dtype of weights."""
    ### BEGIN SOLUTION
    before = (ids[:, None] == ids).tril(-1)
    behind = torch.zeros_like(before)
    behind[:, 1:] = before[:, :-1]
    again = before.any(-1)
    if not again.any():
        return weights.new_zeros(len(weights))
    return (weights * behind).sum(-1)[:, again].mean(-1)
    ### END SOLUTION

# %% [markdown] hints="induction.score"
# 1. Draw the $T \times T$ table of "same token, earlier" for 7 8 7 8. Where do its marks move for "the one behind"?
# 2. `before = (ids[:, None] == ids).tril(-1)`; the same marks one column to the right; multiply by the weights, sum over keys, average over the rows that have a mark.
# 3. `behind[:, 1:] = before[:, :-1]`, `again = before.any(-1)`, `(weights * behind).sum(-1)[:, …].mean(-1)`.

# %% [markdown] worth="induction.score"
# [Olsson et al. 2022](https://arxiv.org/abs/2209.11895) found such heads in models of all sizes, and a bump in the training curve where they form: from then on models learn from their context.

# %%
apply_rope = parts.mine("rope.apply_rope")
copier, curve = induction.train(apply_rope, induction_score, seed=0)
weights_seen, row = induction.look(copier)
with described("Attention of both heads on twelve tokens that come three times: the first looks one place back, "
               "the second at the place behind the last occurrence, where the circles are."):
    induction.draw_attention(weights_seen, row)

# %%
steps, found = zip(*curve)
with described("Score of the second head and accuracy over training: at the end {score:.2f} and {accuracy:.2f}.",
               score=found[-1].score[1], accuracy=found[-1].accuracy):
    plt.plot(steps, [f.score[1] for f in found], label="score of layer 1's head")
    plt.plot(steps, [f.accuracy for f in found], label="next token right")
    plt.xlabel("step"), plt.legend()

# %% [markdown]
# It does not grow, it *arrives*: in the recorded runs with two layers accuracy rose from below 0.2 to above 0.9 between steps {{induction.jump.first}} and {{induction.jump.last}}. Now switch heads off, one at a time.

# %%
predict("speech.p7", "The head in layer 0 never looks at the token to be copied. Switched off, accuracy…",
        ["stays, it does nothing", "falls by half", "falls to near chance"])

# %%
off = {layer: induction.test(copier, off=(layer,)).accuracy for layer in (0, 1)}
print(f"whole {found[-1].accuracy:.2f}, without layer 0's head {off[0]:.2f}, without layer 1's {off[1]:.2f}")

# %%
reveal("speech.p7",
       lambda: f"{off[0]:.2f} instead of {found[-1].accuracy:.2f}; chance is {1 / induction.KINDS:.2f}",
       "It writes into each token which one came before. By that mark the second head finds \"the one behind a 7\".",
       answer=lambda: "falls to near chance" if off[0] < 0.3 else "falls by half" if off[0] < 0.75 else "stays, it does nothing")

# %% [markdown]
# ### Claim on trial
#
# > *"Attention can look up what came next in a single layer; more layers only refine it."*

# %%
alone, flat = induction.train(apply_rope, induction_score, seed=0, layers=1, every=100)
print(f"one layer: score {flat[-1][1].score[0]:.2f}, accuracy {flat[-1][1].accuracy:.2f}")
show_large("induction")

# %% [markdown] evidence="recorded: induction, control: layers"
# **Verdict: it takes two.** With two layers {{induction.two_layers.heads}} of {{induction.seeds}} seeds have a head with a score over {{induction.threshold}}, with one layer {{induction.one_layer.heads}}. A single head can find another **7**, but a key tells only its own token, not the one before. The first layer writes that in.
#
# Switched off, either head takes accuracy from {{induction.two_layers.accuracy.mean:.2f}} to {{induction.two_layers.off_0.mean:.2f}} or {{induction.two_layers.off_1.mean:.2f}}.

# %% [markdown]
# ## 10. Your card
#
# A prompt of your own, a seed that you like. The card is saved beside this notebook, as a page and as a picture; no earlier card is overwritten.

# %%
prompt, settings = "My dear friend,", {"temperature": 0.8, "top_p": 0.95}
written = speaking.speak(generate, model, tokenizer, prompt, speaking.picker(distribution, seed=3, **settings), n=60)

# %%
_ = speaking.card(prompt, written, {**settings, "seed": 3})

# %% [markdown] written="question"
# A colleague trains a small language model. Its held-out loss is far below that of every model of its size, and falls on. What it writes is rubbish. He says: "The sampling must be broken, the loss proves that the model is fine."
#
# What is most likely wrong, and how do you show it?
#
# - the fault, and why held-out loss does not show it
# - a measurement that does, with what it gives for a sound and for a broken model
# - how you would rule out the sampling

# %% [markdown] written="answer" points=4
# Most likely the causal mask is missing or leaks, so each position reads its own answer, one place to the right. Held-out text has the same leak, so its loss falls too: held-out guards against learning by heart, not against seeing the answer. Measure the loss of the last position only, on texts that end there: a sound model pays about the same as before, the broken one pays as much as guessing, or more. Or change a later token and see whether earlier logits move: with a right mask they do not. For the sampling: draw with the same code from known probabilities and compare frequencies, or generate greedily, without any sampling.
#
# ### BEGIN MARK SCHEME
# - 1 point: the mask (or a shift of the targets by which each position sees its own answer).
# - 1 point: held-out loss has the same leak; it guards only against learning by heart.
# - 1 point: a measurement without a future, or a change of later tokens, with both outcomes.
# - 1 point: a test of the sampling that does not use this model, or does without sampling.
# - No point: "overfitting", which a held-out loss would show.
# ### END MARK SCHEME

# %% [markdown]
# ## Recap

# %%
quiz("A model pays 1.5 bits per byte. What does a file of 1,000,000 bytes shrink to, if the model is used to compress it?",
     {"about 187 kB": (True, "1.5 million bits; the decoder needs the same model."), "about 667 kB": (False, "Bits, not a ratio of bytes."),
      "1.5 MB": (False, "That is its size in bits over a million.")})

# %%
quiz("Model A pays 3.1 nats per token, model B 2.9, with other tokens. Which is better?",
     {"B": (False, "Its tokens may be shorter, and then it pays more often."),
      "it can't be said": (True, "Divide by the bytes of a token: bits per byte can be compared."), "A": (False, "Not from these numbers.")})

# %%
quiz("A word was encoded with merges in the order from left to right instead of by rank. The ids…",
     {"are the same": (False, "Another pair may have been taken first."),
      "decode to another text": (False, "Every id stands for its bytes; the text comes back."),
      "decode to the same text, but the model has hardly seen them": (True, "It was trained on one way to cut each word.")})

# %%
quiz("top_p = 0.9, and the likeliest token has probability 0.95. What stays?",
     {"that token": (True, "It crosses 0.9 at once, and the one that crosses stays."), "nothing": (False, "The front is never empty."),
      "all tokens": (False, "After the first the sum is over 0.9.")})

# %%
quiz("A padded batch is generated, and real is passed with the prompt only. What happens to the padded row?",
     {"nothing": (False, "Its padding lies in the cache, and keys are read at every step."),
      "from the second token on it reads its padding": (True, "And nothing raises an error, with real=None."),
      "an error": (False, "None is allowed: it says that nothing is padding.")})

# %%
quiz("Twice as fast memory, the small model of this unit on one core. It speaks…",
     {"twice as fast": (False, "If bytes ruled. Here it is the number of calls."), "hardly faster": (True, "Fewer calls, or larger ones, would help."),
      "half as fast": (False, "Faster memory harms nobody.")})

# %%
progress("12-language-model")

# %% [markdown]
# ## Where this lives in real models
#
# - Byte-level BPE: GPT-2 and all GPTs since, Llama 3 (128,256 tokens, [2407.21783](https://arxiv.org/abs/2407.21783)), Qwen. Here: {{language_model.vocabulary:,}}.
# - Top-k: [Fan et al. 2018](https://arxiv.org/abs/1805.04833); top-p: [Holtzman et al. 2019](https://arxiv.org/abs/1904.09751).
# - Counts of words were what [Bengio et al.](https://www.jmlr.org/papers/v3/bengio03a.html) set out to beat in 2003. They are back, over trillions of tokens, as [infini-gram](https://arxiv.org/abs/2401.17377).
# - Induction heads: [Elhage et al. 2021](https://transformer-circuits.pub/2021/framework/index.html), [Olsson et al. 2022](https://arxiv.org/abs/2209.11895).
#
# This model was small. Next, **13-scale-and-cost**: what a large one takes, to train, to adapt and to serve.
