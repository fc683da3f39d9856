"""Records ``assets/experiments/norm_bandwidth.json``: norms beside a copy and a matrix product, over sizes.

``python -m autograder.recording.experiments.norm_bandwidth [--device cuda]``. The two norms are the plain formulas,
one torch operation after the other, as a learner writes them; torch's own LayerNorm is one kernel.
"""

import ctypes
import sys

import torch
from anatomy.experiments.norm_bandwidth import measure
from torch.nn import functional as F

from autograder.recording.experiments.writing import arguments, prepare, save

ROUNDS = 8  # other programs share the memory: the best of several rounds is nearest to what the machine can do
SIZES = {"cpu": [(64, 1024), (256, 1024), (1024, 1024), (2048, 1024), (4096, 1024)],
         "cuda": [(256, 4096), (1024, 4096), (4096, 4096), (16384, 4096)]}


def plain_layer_norm(x, weight, bias, eps=1e-5):
    """Operation by operation."""
    centered = x - x.mean(-1, keepdim=True)
    return centered / torch.sqrt(centered.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def plain_rms_norm(x, weight, bias, eps=1e-6):
    """Operation by operation; the bias is not used."""
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


NORMS = {"LayerNorm by steps": plain_layer_norm, "RMSNorm by steps": plain_rms_norm,
         "torch's RMSNorm": lambda x, weight, bias: F.rms_norm(x, (x.shape[-1],), weight, 1e-6)}


def keep_memory():
    """Tells glibc to keep freed memory: otherwise each large result costs page faults, and they would be measured."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        for parameter, value in ((-3, 1 << 30), (-1, 1 << 30)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            libc.mallopt(parameter, value)


def main():
    """Command line."""
    keep_memory()
    options = arguments(__doc__.splitlines()[0]).parse_args()
    prepare(options.device)
    kind = options.device.split(":")[0]
    dtypes = [torch.float32, torch.bfloat16] if kind == "cuda" else [torch.float32]
    rows = []
    for dtype in dtypes:
        for tokens, d in SIZES[kind]:
            rounds = [measure(NORMS, tokens, d, dtype, options.device) for _ in range(ROUNDS)]
            times = {name: min(r[name] for r in rounds) for name in rounds[0]}
            rows.append({"tokens": tokens, "d": d, "dtype": str(dtype).removeprefix("torch."),
                         "ns_per_entry": {k: round(v, 4) for k, v in times.items()}})
            print(rows[-1], flush=True)
    save("norm_bandwidth", {"rows": rows}, options, [0])


if __name__ == "__main__":
    main()
