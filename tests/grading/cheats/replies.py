"""Answers that are hard to inspect: decoding, comparing, printing or storing them must not hang, blow up or mislead.

None of them is right. They attack everything that the grader does after a reply has arrived, and the pages that show
the reply.
"""

from .base import answer

_ROPE, _FFN, _NORM = "06-rope", "04-ffn-and-gating", "03-norm-placement"

# ---- expressions where a tensor is expected: the grader only prints them
_EXPRESSIONS = {
    "a sum of towers of powers": """
    tower = sp.Integer(9)
    for _ in range(6):
        tower = sp.Pow(sp.Integer(9), tower)
    return sp.Add(*[sp.Mul(tower, sp.Symbol(f"x{i}")) for i in range(40)])
""",
    "a matrix of towers of powers": """
    tower = sp.Integer(7)
    for _ in range(30):
        tower = sp.Pow(tower, sp.Integer(99))
    return sp.Matrix(2, 2, [tower, -tower, tower + 1, 1 / tower])
""",
    "sums in sums in sums": """
    nest = sp.Symbol("x")
    for i in range(50):
        nest = sp.Add(nest, sp.Mul(sp.Integer(0), sp.Symbol("x")), sp.Pow(nest, sp.Integer(0)))
    return nest
""",
    "a sum of six hundred nothings": """
    return sp.Add(*[sp.Mul(sp.Rational(0, 16), sp.Symbol("x")) for _ in range(600)])
""",
    "the name of a symbol that is long and moves the cursor": """
    return sp.Symbol("\\x1b[2J\\u202e<script>alert(1)</script>" + "x" * 100_000) + 1
""",
    "a fraction of a million digits": """
    return sp.Rational(10 ** 1_000_000 + 1, 7 ** 100_000)
""",
    "infinity, no number and a pole": """
    return sp.Add(sp.Float("inf"), sp.Float("nan"), sp.zoo, sp.Pow(sp.Integer(0), sp.Integer(-1)), sp.log(0))
""",
}
for _name, _body in _EXPRESSIONS.items():
    _source = "import sympy as sp\nfrom sympy.core.parameters import global_parameters\n"
    _start = "def weighted_average(values, weights):\n    global_parameters.evaluate = False"
    answer(_name, "replies", _source + _start + _body, seen=None)

# ---- expressions where one is expected: the grader evaluates them as well
answer(
    "a score made of towers of powers",
    "replies",
    """
import sympy as sp
def expanded_score(d):
    with sp.evaluate(False):
        tower = sp.Symbol("theta", real=True)
        for _ in range(50):
            tower = sp.Pow(tower, tower)
        return sp.Add(*[sp.exp(sp.exp(sp.Mul(tower, sp.Integer(i)))) for i in range(60)])
""",
    unit=_ROPE,
    solve="solve-rope-expanded_score",
    seen=None,
)
answer(
    "a matrix of one by ten thousand, and one of nothing",
    "replies",
    """
import sympy as sp
def relative_rotation(d):
    return sp.zeros(1, 10_000) if d > 0 else sp.Matrix(0, 3, [])
def expanded_score(d):
    return sp.Function("\\x1b[31mf")(sp.Symbol("theta")) if d > 0 else sp.Integral(sp.Symbol("x"))
def rotated_length(x1, x2):
    return sp.Integer(10) ** 5000 if x1 > 3 else sp.Float("1e400")
""",
    unit=_ROPE,
    solve="solve-rope-relative_rotation",
    seen=None,
)

# ---- tensors of odd shapes and dtypes; numbers and tables are in other sections
_TENSORS = {
    "a million empty rows": "return torch.empty(1_000_000, 0)",
    "no rows of a huge length": "return torch.empty(0, 1 << 40)",
    "sixty axes of nothing": "return torch.empty(*[1] * 60, 0)",
    "one number, shown a million million times": "return torch.zeros(1).expand(1 << 40)",
    "a tensor of loud NaNs": "return torch.full((len(values),), 0x7fa00001, dtype=torch.int32).view(torch.float32)",
    "sparse, then quantized, then complex": """
    if len(values) == 2:
        return torch.sparse_coo_tensor([[0]], [1.0], (1 << 40,))
    if len(values) == 3:
        return torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8)
    return torch.zeros(3, dtype=torch.complex32)
""",
    "a tensor without contents": "return torch.empty(1 << 40, device='meta')",
    "a nested tensor": "return torch.nested.nested_tensor([torch.zeros(2), torch.zeros(9)])",
    "numbers of eight and of four bits": """
    return torch.zeros(3, dtype=torch.float8_e4m3fn) if len(values) == 2 else torch.zeros(3, dtype=torch.uint64)
""",
}
for _name, _body in _TENSORS.items():
    answer(_name, "replies", f"import torch\ndef weighted_average(values, weights):\n    {_body}\n", seen=None)
answer(
    "a tensor that answers for itself",
    "replies",
    """
import torch
class Mine(torch.Tensor):
    def __repr__(self): return "x" * 10**8
    def __len__(self): return 1 << 62
    def __iter__(self): return iter(int, 1)
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True
    shape = property(lambda self: (1 << 62,) * 100)
def weighted_average(values, weights):
    return torch.zeros(3).as_subclass(Mine)
""",
    seen=None,
)
answer(
    "empty rows for a width, and for a table of gains",
    "replies",
    """
import torch
def matched_width(d_model, multiple_of=1):
    return torch.empty(1_000_000, 0)
def deepnorm_init(names, beta):
    return {n: torch.empty(100_000, 0) for n in names}
""",
    unit=_FFN,
    solve="solve-ffn-matched_width",
    seen=None,
)
answer(
    "a table of gains with thousands of keys",
    "replies",
    """
def deepnorm_init(names, beta):
    return {f"\\x1b]0;{i}\\x07" + "k" * 300: 1.0 for i in range(4000)}
""",
    unit=_NORM,
    solve="solve-placement-deepnorm_init",
    seen=None,
)

# ---- containers, texts and numbers
_VALUES = {
    "four thousand tensors in lists in lists": """
    return [[torch.full((5,), float(i * j)) for i in range(64)] for j in range(60)]
""",
    "a list that holds itself": "kept = []; kept.append(kept); return kept",
    "a list that is sixty lists, twice each": """
    kept = [values]
    for _ in range(60):
        kept = [kept, kept]
    return kept
""",
    "tuples, a hundred thousand deep": """
    kept = ()
    for _ in range(100_000):
        kept = (kept,)
    return kept
""",
    "a table with five thousand keys": "return {f'key {i}': i for i in range(5_000)}",
    "a table of unusable keys": "return {float('nan'): 1, (1, (2, 3)): 2, None: 3, b'x': 4, frozenset([1]): 5}",
    "an endless generator, and a long range": """
    return range(10**12) if len(values) == 2 else iter(int, 1)
""",
    "a text of signs that turn, hide and link": """
    return "\\x1b[2J\\x9b31m\\u202e\\u200b\\x00\\r\\n$\\\\href{javascript:alert(1)}{x}$<script>alert(1)</script>" * 50
""",
    "a text of fifty million letters": "return 'x' * 50_000_000",
    "half a character": "return '\\ud800' * 1000",
    "an integer of a million digits": "return 10 ** 1_000_000",
    "numbers that are none": """
    return [float("nan"), float("-inf"), -0.0, complex("nan"), 1e308 * 10, 5e-324, True, None]
""",
}
for _name, _body in _VALUES.items():
    answer(_name, "replies", f"import torch\ndef weighted_average(values, weights):\n    {_body.strip()}\n", seen=None)
answer(
    "an object that lies about everything",
    "replies",
    """
class Liar:
    def __getattribute__(self, name): return Liar()
    def __call__(self, *a, **k): return self
    def __repr__(self): return "x" * 10**8
    __str__ = __repr__
    def __len__(self): return 1 << 60
    def __iter__(self): return iter(int, 1)
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __bool__(self): return True
    def __float__(self): return 1e308
    def __index__(self): return 1 << 62
    __class__ = property(lambda self: type("\\x1b[2J<b>" + "y" * 100_000, (), {}))
class Endless(dict):
    def items(self): return iter(lambda: (Liar(), Liar()), None)
class Long(list):
    def __iter__(self): return iter(int, 1)
    def __len__(self): return 1 << 60
    def __getitem__(self, i): return self
def weighted_average(values, weights):
    return {2: Liar(), 3: Endless(a=1)}.get(len(values), Long([1]))
""",
    slow=True,
    seen=None,
)

# ---- errors
_ERRORS = {
    "an error whose text never ends": """
class Error(Exception):
    def __str__(self):
        while True:
            pass
""",
    "an error with a text of a hundred million letters": """
class Error(Exception):
    def __str__(self): return "x" * 10**8
""",
    "an error with a name that moves the cursor": """
Error = type("\\x1b[2J\\u202e<script>\\n" + "E" * 100_000, (Exception,), {"__module__": "\\x1b]0;"})
""",
    "an error that raises errors": """
class Error(Exception):
    def __str__(self): raise self
    __repr__ = __str__
    def __getattribute__(self, name): raise Error
""",
    "an error of ten thousand errors": """
def Error(*a):
    error = ValueError("\\x1b[31m")
    for i in range(10_000):
        inner, error = error, ValueError(i)
        error.__cause__ = error.__context__ = inner
    group = ExceptionGroup("many", [error] * 100)
    for _ in range(200):
        group = ExceptionGroup("x" * 1000, [group])
    return group
""",
}
for _name, _source in _ERRORS.items():
    _endless = "never ends" in _name
    _function = "\ndef weighted_average(values, weights):\n    raise Error()\n"
    answer(_name, "replies", _source + _function, slow=_endless, seen=None)
