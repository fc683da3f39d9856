"""What the short words of ModelAtlas's filters mean: filter → family → a sentence."""

TERMS: dict[str, dict[str, str]] = {
    "norm": {
        "LayerNorm": "LayerNorm: a token's numbers are shifted to mean 0 and scaled to one size.",
        "RMSNorm": "RMSNorm: a token's numbers are only scaled.",
    },
    "placement": {
        "pre": "pre: a norm before attention and before feed-forward.",
        "post": "post: a norm after each of the two sums.",
        "pre and post": "pre and post: norms before and after attention and feed-forward.",
        "inside": "inside: a norm on what attention and feed-forward return.",
        "parallel": "parallel: attention and feed-forward side by side, then one sum.",
    },
    "position": {
        "learned": "learned: a table with a trained row for each position.",
        "sinusoidal": "sinusoidal: sines and cosines of the position are added to a token.",
        "relative": "relative: a score also depends on the distance.",
        "ALiBi": "ALiBi: a score falls with the distance.",
        "RoPE": "RoPE: queries and keys are turned by an angle that grows with the position.",
        "none": "none: no part tells the order.",
    },
    "activation": {
        "ReLU": "ReLU: max(0, x).",
        "GELU": "GELU: a smooth ReLU.",
        "squared ReLU": "squared ReLU: the square of max(0, x).",
        "GeGLU": "GeGLU: GELU of one product gates another.",
        "SwiGLU": "SwiGLU: SiLU, a smooth ReLU, of one product gates another.",
    },
    "attention": {
        "MHA": "MHA, multi-head attention: each query head has its own keys and values.",
        "MQA": "MQA, multi-query attention: all query heads share one head of keys and values.",
        "GQA": "GQA: groups of heads share keys and values.",
        "MLA": "MLA, latent attention: keys and values come from one short vector for each token.",
    },
    "mixing": {
        "softmax": "softmax: attention reads all tokens so far.",
        "windows": "windows: in some layers, attention reads only a part of the tokens.",
        "latent": "latent: attention reads one short vector for each token.",
        "chosen tokens": "chosen tokens: an index picks the tokens that attention reads.",
        "recurrent state": "recurrent state: some layers keep a summary of fixed size instead of keys and values.",
    },
}
