"""A decoder as learners write it: the tests only use its parameters."""

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, c, width=None):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width or c["d_model"]))
        if c["norm"] == "layer":
            self.bias = nn.Parameter(torch.zeros(width or c["d_model"]))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, H, G, D, F = (c[k] for k in ("d_model", "n_heads", "n_kv_heads", "head_dim", "d_ff"))
        self.maps = nn.ModuleList(
            [nn.Linear(d, n * D, bias=c["attention_bias"]) for n in (H, G, G)]
            + [nn.Linear(H * D, d, bias=c["out_bias"])]
        )
        shapes = [(d, F)] * (2 if c["gated"] else 1) + [(F, d)]
        self.experts = nn.ModuleList(
            nn.ModuleList(nn.Linear(a, b, bias=c["ffn_bias"]) for a, b in shapes) for _ in range(c["n_experts"] or 1)
        )
        if c["n_experts"]:
            self.router = nn.Linear(d, c["n_experts"], bias=False)
        if c["qk_norm"]:
            rms = {**c, "norm": "rms"}
            widths = (D, D) if c["qk_norm"] == "head" else (H * D, G * D)
            self.qk_norms = nn.ModuleList(Norm(rms, width) for width in widths)
        self.norms = nn.ModuleList(Norm(c) for _ in range({"both": 4, "parallel": 1}.get(c["placement"], 2)))


class right_decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        if c["attention"] != "grouped":
            raise ValueError("only grouped attention")
        d = c["d_model"]
        self.tokens = nn.Embedding(c["vocab"], d)
        if c["position"] == "learned":
            self.positions = nn.Embedding(c["max_positions"], d)
        if c["embedding_norm"]:
            self.embedding_norm = Norm(c)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["n_layers"]))
        if c["placement"] != "post":
            self.final_norm = Norm(c)
        if not c["tied"]:
            self.head = nn.Linear(d, c["vocab"], bias=False)
