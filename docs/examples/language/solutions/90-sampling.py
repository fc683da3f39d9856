# %% [markdown]
# # 采样
#
# **学完之后**，你能让模型对下一个 token 的选择变得更尖锐或更平坦，并说出温度为 0 时会发生什么。
#
# **先修：** 第 01 单元。**时间：** {{unit.time}}。

# %% [markdown]
# ## 先看一个谜题
#
# 模型给 *cat* 打 2 分，给 *dog* 1 分，给 *eel* 0 分。softmax 把它们变成 67 %、24 % 和 9 %。
#
# 把三个分数除以同一个数，*cat* 就得到 87 %。这个数是多少？除以多少，它又会得到 40 %？

# %% setup=true
import torch
from anatomy import case, check, predict, progress, quiz, reveal

# %% [markdown]
# ## 1. 温度
#
# ### 算一个例子
#
# 分数除以 ½ 就是加倍：4、2 和 0。它们的 softmax 更尖锐。

# %%
scores = torch.tensor([2.0, 1.0, 0.0])
scores.softmax(-1), (scores / 0.5).softmax(-1)

# %% [markdown]
# 除数 $\tau$ 叫做*温度*（[Hinton 等 2015](https://arxiv.org/abs/1503.02531)）。对 $V$ 个 token 的分数 $z$：
#
# $$p_i = \frac{e^{z_i/\tau}}{\sum_j e^{z_j/\tau}}$$
#
# 形状：分数是 $(\dots, V)$，概率也一样。

# %%
predict("sampling.p1", "温度为 100 时，三个 token 大约得到……",
        ["67、24 和 9 %，同前", "各三分之一", "100、0 和 0 %"])

# %%
reveal("sampling.p1",
       lambda: ", ".join(f"{100 * p:.0f} %" for p in (scores / 100).softmax(-1)),
       "所有分数都缩向 0，而 e 的 0 次方都是 1。",
       answer="各三分之一")

# %% [markdown] statement="sampling.tempered"
# 写出它。温度为正数；0 或更小时抛出 `ValueError`。
#
# 分数可能大到 10,000，结果不得出现 NaN。

# %% exercise="sampling.tempered"
def tempered(scores, temperature=1.0):
    """由分数得到各 token 的概率。

    Args:
        scores: (..., V) 浮点张量。
        temperature: 正数。

    Returns:
        (..., V) 张量，dtype 相同，每行之和为 1。

    Raises:
        ValueError: temperature 为 0 或更小。
    """
    ### BEGIN SOLUTION
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    return torch.softmax(scores / temperature, -1)
    ### END SOLUTION

# %% [markdown] hints="sampling.tempered"
# 1. 除以温度的是什么：分数，还是概率？
# 2. 先处理错误，再做一次除法，然后沿最后一个轴做 softmax。
# 3. `return torch.softmax(scores / …, -1)`，前面是一个会抛出异常的 `if`。

# %% [markdown] worth="sampling.tempered"
# 把概率取 1/τ 次方再归一化是同一回事。但用分数更安全：被舍入成 0 的概率，在任何温度下都还是 0。

# %% [markdown]
# ### Claim on trial：受审的说法
#
# > *“温度 0 是小温度的极限：代入 0，最好的 token 就得到全部。”*

# %%
for tau in (1.0, 0.1, 0.01):
    print(tau, tempered(scores, tau).tolist())

# %%
(scores / 0).softmax(-1), (torch.tensor([2.0, 2.0, 0.0]) / 0.01).softmax(-1)

# %% [markdown] evidence="exact"
# **Verdict：极限存在，但公式到不了那里。** 代入 0 得到 ∞ − ∞，也就是 NaN。各个库把 0 当作单独的情形，即 argmax。当两个 token 并列最好时二者不同：极限给每个一半，argmax 只取第一个。

# %% [markdown]
# ## 你的进度

# %%
progress("90-sampling")

# %% [markdown] written="question"
# 有一页写道：*“提高温度，模型就变得有创造力。”* 温度 2 对 *cat*、*dog* 和 *eel* 的概率做了什么，又没有改变什么？要检验这个说法，你会让模型写什么，又会数什么？
#
# - 三个概率，以及它们的顺序
# - 温度触及模型的哪些部分
# - 在两种温度下都能数的东西

# %% [markdown] written="answer" points=3
# 温度为 2 时分数是 1、0.5 和 0，概率是 51、31 和 19 %，而不是 67、24 和 9 %。不太可能的 token 得到更多，可能的得到更少。它们的顺序不变，模型所知道的一切也不变：温度作用于最后的分数，而不是前面的层。我会让同一个模型在温度 1 和 2 下，把同样的开头续写很多次，数出不同的词和错误的句子。只有前者增多，才支持这个说法；两者都增多，就只是噪声。
#
# ### BEGIN MARK SCHEME
# - 1 point: 概率彼此靠近，并给出数字。
# - 1 point: 顺序不变，前面的层不受影响。
# - 1 point: 在两种温度下可以数的东西，其他条件都相同。
# - No point: “模型思考得更自由”。
# ### END MARK SCHEME

# %% [markdown]
# ## 回顾 (Recap)

# %%
quiz("哪个温度让 softmax 保持原样？", {"0": (False, "那是除以零。"), "1": (True, "除以 1。")})

# %%
quiz("温度更低，分布会……",
     {"更尖锐": (True, "分数之差变大。"), "更平坦": (False, "那是温度更高的结果。")})

# %%
quiz("所有分数都加 5，概率会……",
     {"不变": (True, "公因子约掉了。"), "更尖锐": (False, "只有差值起作用。")})

# %%
quiz("所有分数都乘以 5，相当于温度……",
     {"5": (False, "分数是除以它的。"), "0.2": (True, "除以 0.2 就是乘以 5。")})

# %%
quiz("两个 token 并列最高分。温度趋于 0 时，第一个得到……",
     {"一半": (True, "分数相等，在任何温度下份额都相等。"), "全部": (False, "那是 argmax。")})

# %% [markdown]
# ## 它在真实模型中的位置
#
# 从带温度的 softmax 中采样只是生成文本的一半；另一半是截掉不太可能的 token 的尾部（[Holtzman 等 2019](https://arxiv.org/abs/1904.09751)）。
