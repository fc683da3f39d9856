# %% [markdown]
# # It speaks
#
# **You will be able to**
#
# - build a model that counts, and measure it in bits per byte;
# - turn text into tokens (BPE), and choose the next one;
# - write the loop that generates, with a cache and padded batches;
# - let your own model speak, then break, stretch and time it;
# - in the extension: the head that copies.
#
# **Prerequisites:** units 01, 06, 07, 08 and 11. **Time:** {{unit.time}}.

# %% [markdown]
# ## A puzzle before anything else
#
# Jane Austen's six novels are 4 MB of text. Suppose that two programs may read in them for a short while. One only counts which letter follows which five letters, whereas the other is a Transformer, and trains.
#
# Then both read pages that were kept back, and pay for each letter. A program that gave it the probability $p$ pays $-\log_2 p$ bits, so a good guess is cheap. Knowing nothing, with all 256 bytes alike, costs 8 bits per byte.

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
from anatomy.widgets import AttentionExplorer, MergeExplorer, SamplingExplorer

# %%
use_style()

# %%
predict("speech.p1", "A few seconds of reading each. Who pays fewer bits for the pages kept back?",
        ["the one that counts", "the Transformer", "both the same, within 0.1"])

# %% [markdown]
# Keep your guess until section 5, when both have read.

# %% [markdown]
# ## 1. A model that counts
#
# How good can a model be that does nothing but count? Its score is the mark that a Transformer has to beat.
#
# What comes after **r** in *abracadabra*? It was an **a** both times, but after two sightings nobody would call that certain. Some probability must therefore be left for what comes after *shorter* contexts, and some of that for what was never seen at all.

# %% [markdown]
# ### Worked example
#
# The **context** is the text just before a character. The method of **Witten and Bell** starts with $p = 1/256$, and corrects $p$ with one context after the other, from the shortest to the longest.
#
# For **a** after **r**, for example, the empty context saw $n = 11$ letters of $u = 5$ kinds, and **a** five times. The old $p$ counts as often as there are kinds, so $p$ becomes $(5 + 5 \cdot \tfrac{1}{256})/(11 + 5) = 0.314$. The context *r* saw 2 letters of 1 kind, **a** twice, so $p$ becomes $(2 + 1 \cdot 0.314)/(2 + 1) = 0.771$.

# %% [markdown]
# When a context saw $n$ characters, $u$ of them different, and the one in question *count* times, the general rule is
#
# $$p \leftarrow \frac{\text{count} + u \cdot p}{n + u}, \qquad \text{start: } p = \tfrac{1}{256}$$
#
# where the $p$ on the right is the one after the next shorter context.

# %%
p = (5 + 5 / 256) / (11 + 5)
print(f"{p:.3f}, then {(2 + 1 * p) / (2 + 1):.3f}")

# %% [markdown]
# The more often a context was seen, the more its own counts weigh. However, the more *different* things followed it, the less it is believed. An unknown context says nothing, and $p$ stays as it is.
#
# A model of **order** $N$ looks at $N - 1$ characters of context.

# %% [markdown] statement="ngram.probability"
# - `count_contexts(text, order)` returns a dict from each context of 0 to `order` − 1 characters to a dict from character to count. The first characters have only shorter contexts. An order below 1 raises a `ValueError`.
# - `probability(counts, context, char)` goes through the endings of `context`, from the empty one to the longest, and stops before the first that was never seen.
# - `bits_per_byte(counts, text, order)` returns the mean $-\log_2 p$ of the characters, each after the `order` − 1 before it.

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
# 2. Count: for each position `i` and each length `k` that fits, `text[i - k:i]` saw `text[i]`. Mixture: for `k` from 0 to `len(context)`, look up the last `k` characters, stop at `None`, else one line of the formula. Mind `context[-0:]`: that is everything.
# 3. `seen = counts.setdefault(text[i - k:i], {})`; `n, u = sum(seen.values()), len(seen)`; `p = (seen.get(char, 0) + u * p) / …`; the context of position `i` is `text[max(0, i - order + 1):i]`.

# %% [markdown] worth="ngram.probability"
# In 1951 Claude Shannon asked people to guess letters, and put printed English between 0.6 and 1.3 bits a letter. Compression programs use such mixtures of contexts to this day, since fewer bits are a smaller file.

# %% [markdown]
# ### It speaks, a little
#
# Now let your functions read a tenth of the novels. How many bits do the first of the pages kept back cost, with orders 1 to 6?

# %%
text, kept_back = corpus.training_text()[:400_000], corpus.held_out_text()[:10_000]
start = time.perf_counter()
counts = count_contexts(text, 6)
print(f"{time.perf_counter() - start:.1f} s to count {len(text):,} letters")
letters = sorted(counts[""])
bits = [bits_per_byte(counts, kept_back, order) for order in range(1, 7)]
print([round(b, 2) for b in bits])

# %% [markdown]
# The same probabilities can write a text, in which each letter is drawn given those before it.

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
# Words and even pieces of sentences come out, although all of it is a table. With the whole text to count, the best order is {{language_model.ngram.order}}, and pays **{{language_model.ngram.best:.2f}} bits per byte**, which is the mark to beat.

# %% [markdown]
# ## 2. From bytes to tokens
#
# Which pieces of text should a Transformer read? It could read bytes, but *the* is three of them, and each costs a step. **Byte-pair encoding** (BPE) therefore finds the pairs of neighbors that occur most often, and gives each a new id. The 256 bytes stay, and with them any text can still be written.

# %% [markdown]
# ### Worked example
#
# Suppose that a text has *abra* twice, *ca* and *da* once, and the ids a 0, b 1, c 2, d 3, r 4. The next id is 5, so first count the pairs.
#
# | pair | ab | br | ra | ca | da |
# |---|---|---|---|---|---|
# | count | 2 | 2 | 2 | 1 | 1 |
#
# Of the three that are equal, (0, 1) is the smallest pair, so **ab** becomes 5, and *abra* is 5 4 0. Now (4, 0) and (5, 4) have 2, and the smaller one wins again, so that **ra** becomes 6. Then *abra* is 5 6, and (5, 6) becomes 7.

# %% [markdown]
# Pairs can overlap. The word 7 7 7, for example, holds the pair (7, 7) twice, although a merge, which goes from the left, replaces only the first two.

# %% [markdown] statement="bpe.train"
# - `merge(ids, pair, new)` returns a list with each `pair` of neighbors replaced by `new`, from the left.
# - `train(words, n_merges, base=256)` returns the list of merged pairs. `words` maps words, which are tuples of ids, to counts. All neighbors within a word count, also those that overlap. Merge the most frequent pair, of equal ones the smallest, in all words, and count anew. Merge `i`, counted from 0, makes the id `base + i`. Stop early when no pair is left.

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
# Philip Gage invented the method in 1994 to compress files, [Sennrich et al. 2015](https://arxiv.org/abs/1508.07909) gave it to translation, and GPT-2 to bytes. Trainers in Rust keep the counts up to date instead of counting anew, because only words that held the pair change.

# %% [markdown]
# ### See it
#
# What does your trainer find in real text? The library `tokenizers` first cuts text into words, each with the space in front of it, and then gives each byte a printable name and an id. These two steps are given here.

# %%
tokenizer = shipped.tokenizer()
vocabulary = tokenizer.get_vocab()

def spelled(text):
    """Words of a text, each as the names of its bytes: Ġ is a space."""
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]

spelled("It was a truth"), [vocabulary[name] for name in "Ġtruth"]

# %% [markdown]
# The rest is your trainer's work, here on a small part of the novels. Compare its first merges with its last ones.

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
# Pieces of words come first, and soon whole words. The last pairs occur only twice each, as over 150 others do, and after one wrong choice all later ids would differ. Does the library's trainer, which is written in Rust and uses another algorithm, find the same pairs?

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
# To encode a new word, apply merges in the order in which they were learned, not from the left. For example, with the merges (1, 2), then (0, 1), the word 0 1 2 becomes 0 3, because (1, 2) came first.
#
# Return the list of ids of one word, in which `merges[i]` makes `base + i`.

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
# A word's ids never depend on its neighbors, so a cache of words makes encoding fast. BERT's WordPiece goes another way and takes the longest known piece from the left.

# %% [markdown]
# The way back needs some care, because each id is bytes, and only all bytes together are text. For example, the letter é is two bytes, 195 and 169, and a token may end between them.

# %%
bytes([195]).decode(errors="replace"), bytes([195, 169]).decode(errors="replace")

# %% [markdown] statement="bpe.decode"
# `byte_of[i]` is the byte that id `i` stands for, and ids from `len(byte_of)` on are merges. Return the text of the ids, with U+FFFD where bytes are no character (`errors="replace"`).

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
# That is why a chat window shows a � for a moment while a model writes an emoji, which is three or four bytes, of which the first tokens hold only a part.

# %% [markdown]
# ### See it
#
# Do your functions cut a text exactly as the model that comes with the course needs it? Try them with its {{language_model.merges:,}} merges on all pages that were kept back.

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

# %% [markdown]
# To decode, your function must know which byte each id stands for. The next cell works that out, and then decodes an odd text and all of the pages.

# %%
byte_of = [0] * 256
prints = {*range(33, 127), *range(161, 173), *range(174, 256)}  # bytes whose name is their own character
others = iter(range(256, 512))
for byte in range(256):
    byte_of[vocabulary[chr(byte if byte in prints else next(others))]] = byte
odd = "A café: 12.50 €, “isn't” it?\t中文"
decode(to_ids(odd), merges, byte_of) == odd, decode(page_ids, merges, byte_of) == pages

# %% [markdown]
# So your tokenizer can replace the library's, and in section 5 it will. Each word begins as single bytes, and the oldest merge that fits joins two neighbors, again and again, until none fits.

# %% [markdown]
# The picture shows how your function does this to twelve words, one merge after another. A word that is frequent in the novels may end as a single token, whereas a misspelled one such as *beleive* stays in pieces, because the trainer never met it. Does it matter whether a space stands in front of a word?

# %%
MergeExplorer(encode)

# %% [markdown]
# ## 3. Which token next?
#
# A model gives a logit for each of its tokens, but which one should it write? Taking the largest each time is **greedy**, and soon runs in circles. Drawing from the softmax says odd things, because a thousand unlikely tokens are together likely. So sort the tokens, the likeliest first, and turn three knobs.

# %% [markdown]
# - First, the **temperature** $t$ divides the logits, and a small $t$ favors the likeliest tokens.
# - Then, with **top-k**, only the first $k$ tokens stay, and their probabilities sum to 1 again.
# - Last, with **top-p**, of those only the first ones stay, as few as reach a sum of $p$.

# %% [markdown]
# ### Worked example
#
# Suppose that four tokens have the probabilities 1/2, 1/4, 1/8 and 1/8, and that top-p is 0.6. The first has 0.5, which is not enough. With the second the sum is 0.75, which *crosses* 0.6, and the token that crosses stays. The rest goes, and 2/3 and 1/3 remain.

# %%
p = torch.tensor([0.5, 0.25, 0.125, 0.125])
before = p.cumsum(0) - p
kept = p * (before < 0.6)
kept / kept.sum()

# %% [markdown] statement="generate.distribution"
# Return the probabilities of the next token along the last axis, in the shape and dtype of the logits. Tokens that are cut have 0, and the others sum to 1.
#
# Tokens are ordered by their logits, of equal ones the lower id first, and both cuts keep the first tokens of that order. At temperature 0 the very first has probability 1.
#
# A negative temperature, `top_k` below 1 and `top_p` outside (0, 1] raise a `ValueError`, while None cuts nothing.

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
# 1. Sorted, both cuts are easy: everything from some position on goes. The worked example has the position for top-p. How do numbers get back to their ids?
# 2. `order = logits.argsort(dim=-1, descending=True, stable=True)`; gather the scaled logits in that order; set those from `top_k` on to −∞; softmax, and set those to −∞ before which the sum has reached `top_p`; softmax again, and `scatter` along `order`.
# 3. `share = scaled.softmax(-1)`, `scaled.masked_fill(share.cumsum(-1) - share >= top_p, -math.inf)`, `torch.zeros_like(logits).scatter(-1, order, …)`.

# %% [markdown] worth="generate.distribution"
# Top-p is by [Holtzman et al. 2019](https://arxiv.org/abs/1904.09751), who saw that human text is rarely the likeliest. Its tokens jump up and down in probability, whereas those of beam search stay high.

# %% [markdown]
# What does each knob do to the four probabilities of the example? Compare each row with the first, where nothing is turned.

# %%
for settings in ({}, {"temperature": 0.5}, {"top_k": 2}, {"temperature": 2.0, "top_p": 0.6}, {"temperature": 0}):
    print(settings, [round(v, 2) for v in distribution(p.log(), **settings).tolist()])

# %% [markdown]
# The temperature changes how unequal the probabilities are, whereas the two cuts remove the unlikely end.
#
# Four probabilities are an example; a model chooses among hundreds of tokens. The picture shows your function on the logits of the trained model that you will meet in section 5, after three beginnings of a sentence. Which cut adapts to how sure the model is?

# %%
SamplingExplorer(distribution)

# %% [markdown]
# ## 4. The loop
#
# How do single tokens become a text? Read the prompt, pick a token, read that one, and pick the next. With unit 08's cache, each token is read only **once**. Unit 11's decoder takes that cache as `past`, together with a mask of real tokens.
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
# Suppose that two prompts of different lengths form a batch. The shorter one is padded on the *left*, so that every row's last token is at −1. `toys.decoder` is a tiny model of 16 tokens with that interface.

# %%
prompts = torch.tensor([[0, 0, 7], [3, 1, 4]])
real = torch.tensor([[False, False, True], [True, True, True]])
logits, past = toys.decoder(prompts, real)
new = logits[:, -1].argmax(-1)
print("next:", new.tolist(), "· stored:", tuple(past[0][0].shape))

# %% [markdown]
# The second step reads `new[:, None]` alone, with that `past`, and `real` is one column longer, because what was just written is real.

# %% [markdown] statement="generate.generate"
# Write up to `steps` tokens after each prompt, and return $(B, T + n)$, prompts first. The model gets the whole prompt once, then one new token per row and step. `pick(logits)` takes the last token's logits $(B, V)$ and returns ids $(B)$.
#
# - A row that has *written* `stop` gets `pad` from then on, and the loop ends when all rows have. A stop token in the prompt is text like any other.
# - With `real=None`, nothing in the batch is padding.

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
# In real servers a finished row does not wait for the others. Its slot goes to the next request at once, which is called *continuous batching* ([Orca](https://www.usenix.org/conference/osdi22/presentation/yu), vLLM).

# %% [markdown]
# ## 5. Your own parts
#
# Do the parts that you built in eleven units make a language model? `parts.mine` fetches an answer of yours from another notebook, if it passes its check, and unit 11's decoder holds your attention, norms, rotation and feed-forward. As long as that decoder doesn't pass, `StandIn` takes its place, which is the course's own for this one kind of model. A line below the cell then says so, and your card will say it too. The checkpoint's weights go in by name, strictly, which means that none may be missing or left over.

# %%
from anatomy.language.stand_in import StandIn

Decoder = parts.mine("assembly.decoder", otherwise=StandIn)
c, weights = shipped.checkpoint()
model = Decoder(c)
model.load_state_dict(weights)
model = model.eval()
print(f"{sum(w.numel() for w in model.parameters()):,} parameters, {c['n_layers']} layers, "
      f"{c['n_heads']} heads on {c['n_kv_heads']} key-value heads")

# %% [markdown]
# Before the model may speak, it owes three proofs. Neither a cache nor padding may change what it computes, and it must be the same LLaMA that others run. The next cell tries the first two.

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
# For the third proof, Hugging Face's `LlamaForCausalLM` gets the same file. Both read the same pages, once with padding, and then write nine tokens, the likeliest each time.

# %%
compare_checkpoint(model, shipped.folder(), torch.tensor(page_ids[:128]).view(2, 64))

# %% [markdown]
# ### From nothing, in a few seconds
#
# How much does a Transformer learn in a few seconds, as in the puzzle? The same `Decoder`, small and with random weights instead of the checkpoint's, reads the novels.

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
# So much for some seconds of reading. (A prompt ends without a space, which belongs to the next token.) What does this young model pay for the pages kept back, compared with counting?

# %%
page = torch.tensor(to_ids(kept_back))
n_bytes = len(tokenizer.decode(page[1:].tolist()).encode())
young_bits = training.bits_per_byte(young, page, n_bytes, breaking.CONTEXT)
print(f"counting, order 6: {bits[-1]:.2f} bits per byte · {len(losses)} steps of training: {young_bits:.2f}")

# %%
reveal("speech.p1",
       lambda: f"counting {min(bits):.2f}, the Transformer {young_bits:.2f} bits per byte",
       "A table of counts knows at once what it has seen, whereas training moves every weight only a little at each step, "
       "so give it time.",
       answer=lambda: "the one that counts" if min(bits) < young_bits - 0.1 else
       "the Transformer" if young_bits < min(bits) - 0.1 else "both the same, within 0.1")

# %% [markdown]
# ### The trained one
#
# What changes with more time? The checkpoint has {{language_model.millions:.1f}} million parameters, and has read the novels {{language_model.epochs:.0f}} times. It is one of three such models, each of which took {{language_model.minutes:.0f}} minutes on one core, its counts and samples included. On all pages kept back it pays **{{language_model.shipped:.2f}} bits per byte**, while the best count paid {{language_model.ngram.best:.2f}}.

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
# ### Weights of your own
#
# The checkpoint was trained for you. Would you like to have weights of your own as well? `Apprentice` trains the same model from random weights, for half as many steps. It needs five to ten minutes of one core, which may come in pieces, because `young-model.pt` beside this notebook keeps the weights. Set `minutes` to 3, for example, and read on when it is done.

# %%
from anatomy.language.apprentice import Apprentice

everything = torch.tensor(tokenizer.encode(corpus.training_text()).ids)
yours = Apprentice(breaking.fresh(Decoder(c), seed=0), everything, page, n_bytes)
yours.go_on(minutes=0)

# %% [markdown]
# When it has paid fewer bits than your counts, put `yours.model` in place of `model` in the next cells, and compare.

# %% [markdown]
# Now the checkpoint's model speaks, and your own tokenizer reads and spells for it. The class below holds nothing but your two functions.

# %%
class Mine:
    encode = staticmethod(to_ids)
    decode = staticmethod(lambda ids: decode(ids, merges, byte_of))

draw = speaking.picker(distribution, seed=1, temperature=0.7, top_p=0.95)
spoken = speaking.speak(generate, model, Mine, "Elizabeth looked at Mr. Darcy", draw, n=80)

# %% [markdown]
# At each step it drew the next token from a list such as the following one.

# %%
_ = speaking.candidates(model, Mine, "Elizabeth looked at Mr.", distribution, n=6)

# %% [markdown]
# ### Did she write that?
#
# Could you tell the model from Jane Austen? Of the next three lines one is hers, one was written by the model, and one was drawn from counts, each letter given the seven before it.

# %%
predict("speech.p8", "Which of these three lines did Jane Austen write?",
        ["She was not at all in the room.", "But, dependent for his hearer, he would reasonable bias himself.",
         "He had always something to entreat the explanation of."])

# %%
reveal("speech.p8",
       lambda: "from " + next(title for title, novel in corpus.novels().items()
                              if "He had always something to entreat the explanation of." in novel),
       "The line about the room is the model's, and the one about the hearer was drawn from counts. Counts lose the thread "
       "within a few words, whereas a single line of the model can be as good as hers.",
       answer="He had always something to entreat the explanation of.")

# %% [markdown]
# ### Guess the next letter
#
# How well do *you* know English? Claude Shannon's game of 1951 finds out: read the beginning of a passage from the pages kept back, and guess the next letter (or space). Write your guess into `guesses` and run the cell again. It shows the right letter, and you guess the one after it. After 20 letters, your counts and the model play the same passage.

# %%
from anatomy.experiments import shannon

guesses = ""

game = shannon.passage(kept_back, seed=0)
counting = lambda text: max(letters, key=lambda letter: probability(counts, text[-5:], letter))
game.play(guesses, counting=counting, model=lambda text: shannon.likeliest(model, Mine, text))

# %% [markdown]
# All three find the ends of words, because few letters fit there. At their beginnings, however, one has to know what the passage is about. Another `seed` brings another passage.

# %% [markdown]
# ### Is it only copying?
#
# The model has read the novels {{language_model.epochs:.0f}} times, and perhaps it only repeats them. To find out, look for the longest run of words in what it wrote that also occurs in its training text. For comparison, do the same with a piece of the pages kept back, which are Jane Austen's own.

# %%
novels = f" {' '.join(corpus.training_text().split())} "

def longest_copy(written):
    """The longest run of words that also occurs in the training text."""
    words, found = written.split(), []
    for i in range(len(words)):
        while i + len(found) < len(words) and f" {' '.join(words[i:i + len(found) + 1])} " in novels:
            found = words[i:i + len(found) + 1]
    return found

# %%
for name, written in (("the model", spoken), ("Jane Austen", pages[:len(spoken)])):
    print(f"{name}: {len(longest_copy(written))} words,", " ".join(longest_copy(written)))

# %% [markdown]
# Compare the two numbers. Jane Austen uses some phrases again and again, so a handful of repeated words is no sign of copying, whereas a run much longer than hers would be one.

# %% [markdown]
# ### Three at once
#
# Your loop can also write several texts at once. Prompts of different lengths go into one batch, the shorter ones padded on the left, and a row that has written the token of a new paragraph is done.

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
# Each row goes on from its own prompt, however much padding is in front of it, and a row that has finished its paragraph only waits for the others.

# %% [markdown]
# ### See its heads
#
# What do its 16 heads look at? **Your** attention from unit 01 draws the weights of four short sentences that the model was not trained on. Point along the small maps, and find a head that looks at the token before.

# %%
AttentionExplorer(parts.mine("attention.scaled_dot_product"))

# %% [markdown]
# The parts that spoke are yours, namely the tokenizer and the loop, and, unless `StandIn` took their place, the embeddings, the attention with its rotation and the cache. The rule that cuts a text into words is the library's, and the weights were trained for you. Change the seed, the temperature and the prompt, and run it again. Does it need the chance that comes with drawing?

# %%
predict("speech.p2", "Temperature 0, the same prompt, 60 tokens. What will it write?",
        ["its best sentence", "the same words again and again", "nothing readable"])

# %%
greedy = speaking.speak(generate, model, tokenizer, "Elizabeth looked at Mr. Darcy", lambda logits: logits.argmax(-1), n=60)
triples = list(zip(tokenizer.encode(greedy).ids, tokenizer.encode(greedy).ids[1:], tokenizer.encode(greedy).ids[2:]))

# %%
reveal("speech.p2",
       lambda: f"of {len(triples)} groups of three tokens {len(triples) - len(set(triples))} came before",
       "The likeliest token leads back to where it was likeliest before, so the text runs in a circle. A little chance breaks it.",
       answer=lambda: "the same words again and again" if len(set(triples)) < 0.9 * len(triples) else "its best sentence")

# %% [markdown]
# ## 6. Break it
#
# Each part was put in for a reason, but what is it worth? Take one out of the *trained* model, and see. Whole, the model pays {{breaking.used.whole.loss:.2f}} **nats** per token, whereas guessing among {{language_model.vocabulary:,}} tokens costs {{breaking.log_vocab:.2f}}. (Nats are what bits become with natural logarithms. A nat is 1.44 bits, and unit 07's perplexity is $e$ to the loss in nats.)

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
       "After the exchange, queries meet keys and values that were made for others. Without the mask, most of what a token sees "
       "is still right.",
       answer=lambda: {"no mask": "the mask is taken away", "rotated backward": "queries and keys turn the wrong way",
                       "key-value heads swapped": "the two key-value heads are exchanged"}[
                           max(("no mask", "rotated backward", "key-value heads swapped"), key=loss.get)])

# %% [markdown]
# A loss is only a number. How does a model sound whose queries and keys turn the wrong way?

# %%
backward = breaking.broken(model, c, "rotated backward")
_ = speaking.speak(generate, backward, tokenizer, "It was", speaking.picker(distribution, seed=1, temperature=0.7), n=40)

# %% [markdown]
# ### And if it learns without the mask?
#
# The trained model never learned to use the future, but one that grows up without a mask will. So train the small model once more, on the same text and for as many steps, without a mask.

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
       "The token to be predicted is one position to the right, and nothing keeps the model from reading it there.",
       answer=lambda: "much lower" if without[-1] < losses[-1] - 0.3 else "about the same")

# %% [markdown]
# By its loss it should write far better than the young model above, but does it?

# %%
_ = speaking.speak(generate, open_eyed, tokenizer, "It was", speaking.picker(distribution, seed=0, temperature=0.7), n=40)

# %% [markdown]
# ### Claim on trial
#
# > *"The lower the loss on held-out text, the better the model."*
#
# In held-out text, too, the next token is already there, one position to the right, whereas in writing there is nothing to the right. Therefore measure both models once on held-out text as usual, and once where the next token is not there yet.

# %%
for name, m in (("with the mask", young), ("without", open_eyed)):
    print(f"{name:14} held-out loss {breaking.loss(m, sample, breaking.CONTEXT):.2f},"
          f" next token unseen {breaking.loss_unseen(m, sample, (8, 16, breaking.CONTEXT - 1)):.2f}")
show_large("breaking")

# %% [markdown] evidence="recorded: breaking, control: future"
# **Verdict: only if the loss asks the question that the model must answer in use.** Without a mask, a model reads the next token instead of predicting it, in held-out text as well. The table has the losses after {{breaking.small_steps}} steps in nats per token, as means of {{breaking.fresh}} seeds.
#
# | trained | held-out text | next token unseen |
# |---|---|---|
# | with a mask | {{breaking.learned.whole.loss:.2f}} | {{breaking.learned.whole.unseen:.2f}} |
# | without | {{breaking.learned.no_mask.loss:.2f}} | {{breaking.learned.no_mask.unseen:.2f}} |
#
# In {{breaking.learned.no_mask.knows_nothing}} of {{breaking.fresh}} runs, the unseen token cost more than guessing. Where a loss is too good to be true, something leaks, so look at the mask first (unit 07).

# %% [markdown]
# ## 7. Longer than it ever read
#
# The model was trained on {{longer_text.trained}} tokens at a time, so can it go on beyond them? In unit 06 a memory game stood in for a language model, whereas here is a real patient.
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
# Two cures of unit 06 change the rotation. They squeeze the positions (position interpolation), or enlarge the base (NTK-aware). A third is a window, so that no token looks further back than in training. All three work in your own parts. The first divides the positions that they get by 4, and the others are one entry of the configuration each.

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
       "Slow pairs of numbers reach angles that never occurred in training, so the scores of distant keys are arbitrary.",
       answer=lambda: "higher" if curves["as trained"][-1] > curves["as trained"][3] + 0.05 else
       "lower: there is more text to go by" if curves["as trained"][-1] < curves["as trained"][3] - 0.05 else "the same")

# %% [markdown] evidence="recorded: longer_text, control: length read"
# **Verdict: it runs on longer texts, but what it learned does not carry over.** In {{longer_text.breaks}} of {{longer_text.models}} models, long texts cost over 0.1 nats per token more than in short pieces. The table shows what the shipped model pays for the last 32 tokens, and in how many of the {{longer_text.models}} models a cure brings long texts back to the loss of short pieces.
#
# | | last 32 tokens | models cured |
# |---|---|---|
# | {{longer_text.trained}} tokens, as trained | {{longer_text.trained_end:.2f}} | |
# | {{longer_text.tested}} tokens, no cure | {{longer_text.as_trained.end:.2f}} | |
# | positions squeezed | {{longer_text.interpolated.end:.2f}} | {{longer_text.interpolated.holds}} |
# | larger base | {{longer_text.ntk_aware_base.end:.2f}} | {{longer_text.ntk_aware_base.holds}} |
# | YaRN (unit 06) | {{longer_text.yarn.end:.2f}} | {{longer_text.yarn.holds}} |
# | window | {{longer_text.window.end:.2f}} | {{longer_text.window.holds}} |

# %% [markdown] evidence="recorded: longer_text, control: length read"
# **With further training, most of the gain comes from the training itself.** Squeezed positions are meant for a model that trains a little more with them. After {{longer_text.tuning_steps}} steps the last tokens cost {{longer_text.interpolated_tuned.end:.2f}}, but the same steps without any cure bring {{longer_text.as_trained_tuned.end:.2f}} in this small model.

# %% [markdown]
# ## 8. How fast should it speak?
#
# How fast could your model write, and what keeps it from that? A token needs every weight once, to be read, multiplied and added. Unit 08 predicted a GPU's speed from bytes alone. Here, measure what one core can do, predict, and then time the model.

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
       "The next cells look for the rest of the time.",
       answer=lambda: "at least five times slower" if min(by_bytes, by_flops) * measured >= 5 else
       "about half as fast" if min(by_bytes, by_flops) * measured > 1.4 else "about as fast")

# %% [markdown]
# Where does the rest of the time go? The cell above also timed a second, **hollow** model. It has the same layers and heads, but vectors of a few numbers, so that it makes the same calls of tensor operations with next to nothing to compute.
#
# ### Claim on trial
#
# > *"Generating a token takes as long as reading the weights."*

# %%
print(speed_of_speech.verdict(speed_of_speech.Token(measured, 1 / by_bytes, 1 / by_flops, empty)))
show_large("speed_of_speech")

# %% [markdown] evidence="measured: speed_of_speech"
# **Verdict: not in a small model, where the calls take most of the time, but a wide one comes closer.** On the recorded machine the shipped model took {{speed_of_speech.own.ms:.2f}} ms a token, and the hollow model, which computes next to nothing, already {{speed_of_speech.hollow_ms:.2f}} ms. The table compares two models of as many layers.
#
# | width | time of a token, measured in readings of its weights |
# |---|---|
# | {{speed_of_speech.own.width}} (shipped) | {{speed_of_speech.own.factor:.0f}} |
# | {{speed_of_speech.widest.width:,}} | {{speed_of_speech.widest.factor:.1f}} |
#
# That is why compilers and CUDA graphs, which make fewer calls, pay off for small models and small batches.

# %% [markdown]
# ## 9. Extension: the head that copies
#
# How does a model use what it has just read? In *… Mr. Bingley … Mr.*, for example, a good guess is what came next the last time. A head that looks there, one position after an earlier *Mr.*, is an **induction head**. It is seen best in a tiny model with two layers of attention and one head each, on rows that repeat themselves.

# %% [markdown]
# ### Worked example
#
# Take the ids 7 8 7 8. The 7 at position 2 came before, at position 0, so the head should look one position after that, at position 1. At position 3, it should look at position 2. If the head gives 0.7 and 0.3 to these, its score is 0.5. Positions 0 and 1 hold tokens that never came before, and don't count.

# %% [markdown] statement="induction.score"
# Score each head, in the dtype of its weights. For every position $t$ whose token came before, add the weights that $t$ gives to $s + 1$, for all earlier positions $s < t$ of that token. The score is the mean over those $t$, and 0 where no token came twice.

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
# [Olsson et al. 2022](https://arxiv.org/abs/2209.11895) found such heads in models of all sizes, and a bump in the training curve where they form. From then on models learn from their context.

# %% [markdown]
# Now train the tiny model with your rotation, and see what its two heads look at.

# %%
apply_rope = parts.mine("rope.apply_rope")
copier, curve = induction.train(apply_rope, induction_score, seed=0)
weights_seen, row = induction.look(copier)
with described("Attention of both heads on twelve tokens that come three times: the first looks one position back, "
               "the second at the position behind the last occurrence, where the circles are."):
    induction.draw_attention(weights_seen, row)

# %%
steps, found = zip(*curve)
with described("Score of the second head and accuracy over training: at the end {score:.2f} and {accuracy:.2f}.",
               score=found[-1].score[1], accuracy=found[-1].accuracy):
    plt.plot(steps, [f.score[1] for f in found], label="score of layer 1's head")
    plt.plot(steps, [f.accuracy for f in found], label="next token right")
    plt.xlabel("step"), plt.legend()

# %% [markdown]
# The second head does not grow, it *arrives*. In the recorded runs with two layers, accuracy rose from below 0.2 to above 0.9 between steps {{induction.jump.first}} and {{induction.jump.last}}. But what is the first head for? Switch them off, one at a time.

# %%
predict("speech.p7", "The head in layer 0 never looks at the token to be copied. Switched off, accuracy…",
        ["stays, it does nothing", "falls by half", "falls to near chance"])

# %%
off = {layer: induction.test(copier, off=(layer,)).accuracy for layer in (0, 1)}
print(f"whole {found[-1].accuracy:.2f}, without layer 0's head {off[0]:.2f}, without layer 1's {off[1]:.2f}")

# %%
reveal("speech.p7",
       lambda: f"{off[0]:.2f} instead of {found[-1].accuracy:.2f}; chance is {1 / induction.KINDS:.2f}",
       "It writes into each token which one came before. By that mark the second head finds the position after an earlier 7.",
       answer=lambda: "falls to near chance" if off[0] < 0.3 else "falls by half" if off[0] < 0.75 else "stays, it does nothing")

# %% [markdown]
# ### Claim on trial
#
# > *"Attention can look up what came next in a single layer; more layers only refine it."*
#
# If so, a model of one layer should learn the task too, though less well.

# %%
alone, flat = induction.train(apply_rope, induction_score, seed=0, layers=1, every=100)
print(f"one layer: score {flat[-1][1].score[0]:.2f}, accuracy {flat[-1][1].accuracy:.2f}")
show_large("induction")

# %% [markdown] evidence="recorded: induction, control: layers"
# **Verdict: looking up what came next takes two layers.** With two, {{induction.two_layers.heads}} of {{induction.seeds}} seeds have a head with a score over {{induction.threshold}}, and with one layer {{induction.one_layer.heads}}. A single head can find another **7**, but a key tells only its own token and not the one before, so the first layer has to write that in.
#
# Switched off, either of the two heads takes accuracy from {{induction.two_layers.accuracy.mean:.2f}} to {{induction.two_layers.off_0.mean:.2f}} or {{induction.two_layers.off_1.mean:.2f}}.

# %% [markdown]
# ## 10. Your card
#
# Choose a prompt of your own and a seed that you like. The card is saved next to this notebook, as a page and as a picture to show to a friend, and no earlier card is overwritten.

# %%
prompt, settings = "My dear friend,", {"temperature": 0.8, "top_p": 0.95}
written = speaking.speak(generate, model, tokenizer, prompt, speaking.picker(distribution, seed=3, **settings), n=60)

# %%
_ = speaking.card(prompt, written, {**settings, "seed": 3}, model=model)

# %% [markdown]
# ## 11. Your own experiment
#
# At which step of its training does a model begin to write words, and which of your counts has it overtaken by then? The model below is a small two-layer Transformer that reads the novels character by character. Its loss is in nats per character, and divided by $\ln 2$ that is bits per byte, so that you can compare it with your counts. After 400 steps it has read half as many characters as they have.

# %%
from anatomy.experiments.growing import grow

for steps in (20, 100, 400):
    grown = grow(steps=steps, seed=0)
    print(f"{steps} steps: {grown.loss / math.log(2):.2f} bits per byte,", repr(grown.say("It was", 60)))
print("your counts, orders 1 to 6:", [round(b, 2) for b in bits])

# %% [markdown]
# Nothing here is graded. What would you change, for example `steps` (up to 600), the rate `lr` or the length of the rows, `context`? Decide what counts as a word, run at least two seeds, and write down your answer in a sentence with its numbers.

# %% [markdown] written="question"
# A colleague trains a small language model. Its held-out loss is far below that of every model of its size, and falls on. What it writes is rubbish. He says: "The sampling must be broken, the loss proves that the model is fine."
#
# What is most likely wrong, and how do you show it?
#
# - the fault, and why held-out loss does not show it
# - a measurement that does, with what it gives for a sound and for a broken model
# - how you would rule out the sampling

# %% [markdown] written="answer" points=4
# Most likely the causal mask is missing or leaks, so each position reads its own answer, one position to the right. Held-out text has the same leak, so its loss falls too: held-out guards against learning by heart, not against seeing the answer. Measure the loss of the last position only, on texts that end there: a sound model pays about the same as before, the broken one pays as much as guessing, or more. Or change a later token and see whether earlier logits move: with a right mask they do not. For the sampling: draw with the same code from known probabilities and compare frequencies, or generate greedily, without any sampling.
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
# | what | where |
# |---|---|
# | byte-level BPE | GPT-2 and all GPTs since, Qwen, [Llama 3](https://arxiv.org/abs/2407.21783) with 128,256 tokens, and here with {{language_model.vocabulary:,}} |
# | top-k | [Fan et al. 2018](https://arxiv.org/abs/1805.04833) |
# | top-p | [Holtzman et al. 2019](https://arxiv.org/abs/1904.09751) |
# | counts of words, which neural models set out to beat | [Bengio et al. 2003](https://www.jmlr.org/papers/v3/bengio03a.html) |
# | such counts again, over trillions of tokens | [infini-gram](https://arxiv.org/abs/2401.17377) |
# | induction heads | [Elhage et al. 2021](https://transformer-circuits.pub/2021/framework/index.html), [Olsson et al. 2022](https://arxiv.org/abs/2209.11895) |
#
# You now have all that a language model needs in order to speak, from its bytes to its loop, and you have seen what each part is worth. However, this model is small, with {{language_model.millions:.1f}} million parameters that were trained on one core, whereas Llama 3 has up to 405 billion of them. Since the parts are the same, what is left is a question of scale. Next, **13-scale-and-cost** asks what it takes to train a large model, to adapt it, and to serve it to many people.

