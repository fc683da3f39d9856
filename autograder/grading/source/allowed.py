"""The names that answers to exercises with forbidden built-ins may use, and the equivalents that each ban excludes.

This is a list of what is allowed, because a list of everything that computes the same cannot be complete: PyTorch
alone has ten ways to compute a softmax. It holds the names that the references and their alternatives use, and other
harmless names, so that a correct answer written differently does not have to wait for a person. A missing name costs a
manual review, but no points; a name too many lets an equivalent through. So everything that computes more than one
elementary step is left out: losses (a cross entropy contains a softmax), distributions
(``Categorical(logits=x).probs``), ready-made attention, fused and quantized kernels, ``torch.special`` except for the
normal distribution, derivatives (that of logsumexp is softmax, that of softplus is the sigmoid; ``grad_fn`` returns
one ready to be called), compilers, and callbacks into any of these. An option that turns an allowed function into
another one is not listed here: ``mentions.py`` records it as a mention of that other function.
"""

import re
import sys
from functools import cache

import torch
from anatomy.program.runner import forbidden_names

# Elementary operations, allowed as functions of torch and as methods of tensors.
_ELEMENTARY = """
abs absolute acos add addcdiv addcmul addmm addmv addr all allclose amax amin aminmax angle any arccos arcsin arctan
arctan2 argmax argmin argsort as_strided asin asinh atan atan2 atanh acosh baddbmm bitwise_and bitwise_not bitwise_or
bitwise_xor bmm broadcast_to ceil chunk clamp clamp_max clamp_min clip clone concat conj copysign cos cosh
count_nonzero cummax cummin cumprod cumsum deg2rad detach diag diag_embed diagonal diff div divide dot eq equal erf
erfc erfinv exp exp2 expm1 fix flatten flip fliplr flipud floor floor_divide fmax fmin fmod frac gather ge greater
greater_equal gt heaviside hsplit hypot imag index_add index_copy index_fill index_put index_select inner isclose
isfinite isin isinf isnan isneginf isposinf isreal kron kthvalue le lerp less less_equal log log10 log1p log2 logaddexp
logical_and logical_not logical_or logical_xor lt masked_fill masked_scatter masked_select matmul max maximum mean
median min minimum mm moveaxis movedim mul multiply mv nan_to_num nanmean nansum narrow ne neg negative nonzero norm
not_equal numel outer permute positive pow prod put ravel real reciprocal remainder repeat_interleave reshape
resolve_conj roll rot90 round rsqrt rsub scatter scatter_add select sgn sigmoid sign signbit sin sinc sinh
slice_scatter sort split sqrt square squeeze std sub subtract sum swapaxes swapdims t take take_along_dim tan tanh
tensor_split tile topk trace transpose tril triu true_divide trunc unbind unflatten unique unsqueeze unsafe_chunk var
vdot view_as_complex view_as_real vsplit where xlogy softmax log_softmax logsumexp relu dropout baddbmm
"""
_TORCH = """
arange as_tensor asarray atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod
cat chain_matmul column_stack combinations complex concatenate cov dstack einsum empty empty_like eye finfo from_numpy
full full_like hstack iinfo is_complex is_floating_point is_grad_enabled is_tensor linspace logspace meshgrid nonzero
numel ones ones_like polar promote_types rand rand_like randint randn randn_like randperm result_type row_stack
scalar_tensor set_grad_enabled stack tensor tensordot tril_indices triu_indices vander vstack zeros zeros_like no_grad
enable_grad inference_mode inf nan pi e newaxis Tensor Size dtype device layout memory_format strided
contiguous_format channels_last preserve_format Generator manual_seed get_default_dtype set_default_dtype
set_printoptions is_nonzero can_cast bernoulli seed default_generator FloatTensor DoubleTensor HalfTensor
BFloat16Tensor LongTensor IntTensor BoolTensor ShortTensor ByteTensor typename numel __version__ get_device_module
var_mean std_mean cuda.is_available backends.mps.is_available special.ndtr
special.expit special.erf special.erfc special.expm1 special.exp2
special.log1p special.xlogy linalg.norm linalg.vector_norm linalg.matmul linalg.multi_dot linalg.vecdot
linalg.diagonal autograd.no_grad autograd.enable_grad autograd.Function autograd.function.Function
autograd.set_grad_enabled autocast amp.autocast
"""
_NN = """
Module Parameter Linear Identity Bilinear LazyLinear ModuleList ModuleDict ParameterList ParameterDict Sequential
Embedding Buffer Flatten Unflatten Dropout Softmax Sigmoid Tanh ReLU LogSoftmax UninitializedParameter
parameter.Parameter parameter.Buffer modules.module.Module modules.linear.Linear functional.linear functional.one_hot
functional.pad functional.embedding functional.softmax functional.log_softmax functional.dropout functional.relu
functional.sigmoid functional.tanh functional.bilinear init.xavier_uniform_ init.xavier_normal_ init.kaiming_uniform_
init.kaiming_normal_ init.zeros_ init.ones_ init.constant_ init.normal_ init.uniform_ init.trunc_normal_ init.eye_
init.orthogonal_ init.calculate_gain
"""
# Methods and attributes that are harmless on any object: tensors, modules, numbers, strings, containers.
_METHODS = """
T mT H mH shape dtype device ndim size dim stride numel nelement element_size itemsize nbytes layout is_cuda is_leaf
requires_grad requires_grad_ retain_grad contiguous is_contiguous expand expand_as view view_as reshape_as repeat
unfold to type type_as float double half bfloat16 int long short byte char bool cpu cuda item tolist numpy new_zeros
new_ones new_full new_empty new_tensor fill_ zero_ copy_ masked_fill_ scatter_ scatter_add_ index_add_ index_copy_
index_fill_ index_put_ fill_diagonal_ triu_ tril_ unsqueeze_ squeeze_ transpose_ t_ data is_floating_point is_complex
untyped_storage storage data_ptr storage_offset share_memory_ names is_sparse is_quantized is_meta dim_order
set_ resize_ uniform_ normal_ bernoulli_ random_ apply weight bias in_features out_features num_embeddings
embedding_dim training eval train parameters named_parameters children named_children buffers named_buffers
register_buffer register_parameter add_module register_module forward state_dict load_state_dict reset_parameters
get_parameter get_buffer zero_grad extra_repr modules named_modules append extend insert pop popleft appendleft remove
clear copy keys values items get setdefault update index count reverse join split rsplit strip lstrip rstrip
startswith endswith replace lower upper title capitalize format find rfind zfill ljust rjust center isdigit isalpha
splitlines partition rpartition isidentifier isnumeric removeprefix removesuffix add discard union intersection
difference issubset issuperset symmetric_difference isdisjoint most_common elements total is_integer as_integer_ratio
bit_length real imag conjugate numerator denominator start stop step eps tiny smallest_normal resolution args
with_traceback add_note values indices value name fget setter getter deleter save_for_backward saved_tensors
needs_input_grad mark_non_differentiable set_materialize_grads ctx send throw close cache_clear cache_info _replace
_asdict _fields register
"""
_HARMLESS_DUNDERS = """
__init__ __name__ __qualname__ __doc__ __class__ __post_init__ __call__ __len__ __getitem__ __setitem__ __iter__
__next__ __contains__ __enter__ __exit__ __repr__ __str__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__
__truediv__ __rtruediv__ __floordiv__ __mod__ __matmul__ __rmatmul__ __pow__ __rpow__ __neg__ __pos__ __abs__ __lt__
__le__ __gt__ __ge__ __eq__ __ne__ __and__ __or__ __xor__ __invert__ __iadd__ __isub__ __imul__ __itruediv__ __float__
__int__ __bool__ __new__ __version__ __hash__ __index__ __annotations__ __slots__ __all__ __author__ __file__
"""
_NUMPY = """
abs absolute add all allclose amax amin any arange argmax argmin argsort array asarray ascontiguousarray atleast_1d
atleast_2d bool_ broadcast_to ceil clip concatenate cos cosh cumsum diag divide dot dtype e einsum empty empty_like
equal errstate exp expand_dims expm1 eye finfo float16 float32 float64 floor full full_like greater int32 int64 inf
isclose isfinite isinf isnan less linspace log log10 log1p log2 logical_and logical_not logical_or matmul max maximum
mean min minimum moveaxis multiply nan nan_to_num ndarray ndim negative newaxis ones ones_like outer pi pow power prod
repeat reshape round shape sign sin sinh size split sqrt square squeeze stack std subtract sum swapaxes take tan tanh
tensordot tile transpose tril triu true_divide var where zeros zeros_like integer floating number random.randn
random.rand random.seed random.default_rng linalg.norm
"""
_LIBRARIES = {
    "operator": "add sub mul truediv floordiv mod pow matmul neg pos abs and_ or_ xor not_ invert eq ne lt le gt ge "
    "getitem setitem itemgetter contains index iadd isub imul itruediv attrgetter methodcaller is_ is_not concat",
    "functools": "partial reduce wraps lru_cache cache cached_property total_ordering update_wrapper partialmethod "
    "cmp_to_key",
    "collections": "namedtuple defaultdict OrderedDict deque Counter ChainMap abc.Callable abc.Sequence abc.Iterable "
    "abc.Iterator abc.Mapping abc.Generator abc.MutableMapping abc.Sized abc.Hashable abc.Collection",
    "dataclasses": "dataclass field replace asdict astuple fields KW_ONLY InitVar",
    "types": "SimpleNamespace",
    "enum": "Enum IntEnum auto StrEnum Flag unique",
    "abc": "ABC abstractmethod ABCMeta",
    "numbers": "Number Real Integral Complex",
    "contextlib": "nullcontext contextmanager suppress ExitStack",
    "copy": "copy deepcopy",
    "warnings": "warn catch_warnings simplefilter filterwarnings",
    "time": "time perf_counter sleep monotonic",
    "random": "random seed randint choice gauss uniform shuffle Random",
    "string": "ascii_lowercase ascii_letters ascii_uppercase digits",
    "einops": "rearrange repeat einsum reduce pack unpack",
    "logging": "getLogger debug info warning",
}
_WHOLE = (
    "math",
    "cmath",
    "itertools",
    "typing",
    "typing_extensions",
    "fractions",
    "decimal",
    "statistics",
    "__future__",
)
_WHOLE_BUT = {"typing.get_type_hints", "typing.ForwardRef", "typing_extensions.get_type_hints", "typing.sys"}
BUILTINS = frozenset(
    """
abs all any ascii bin bool bytes bytearray callable chr classmethod complex dict divmod enumerate filter float format
frozenset getattr hasattr hash hex id int isinstance issubclass iter len list map max min next object oct ord pow
print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type zip True False
None NotImplemented Ellipsis __name__ __debug__ __doc__ display
""".split()
)
BASES = frozenset(
    """
torch.nn.Module torch.nn.ModuleList torch.nn.ModuleDict torch.nn.Sequential torch.nn.Linear torch.nn.Embedding
torch.nn.ParameterList torch.nn.Identity torch.autograd.Function typing.NamedTuple typing.Protocol typing.Generic
typing.TypedDict enum.Enum enum.IntEnum enum.StrEnum abc.ABC collections.OrderedDict collections.abc.Callable
builtins.object builtins.dict builtins.list builtins.tuple builtins.str builtins.int builtins.float builtins.set
torch.nn.modules.module.Module torch.nn.modules.linear.Linear torch.autograd.function.Function
""".split()
)

# Names that are listed above, but are equivalents of one forbidden name. Spelled as ``plain`` returns them.
_EQUIVALENTS = {
    # sigmoid(a − b) = exp(a − logaddexp(a, b)): one division away from the forbidden logaddexp.
    "logsumexp": {"sigmoid", "expit", "logaddexp"},
    # The built-in variance of a row is allowed (the text suggests mean and var), the ready-made quotient is not:
    # normalize, renorm, cosine similarity, correlations and response norms are not listed at all. Norms are fine:
    # dividing by a norm is the formula itself.
    "layer_norm": {"cov"},
    # No entry for softmax: logsumexp is a different lesson, and one of the correct answers uses it; its derivative,
    # which is softmax, is not listed at all. No entry for attention: its parts are allowed, and no complete attention
    # is listed. No entry for the activations: only relu, sigmoid and tanh are listed, and relu is forbidden where the
    # exercise asks for that family. No entry for dropout: the exercise gives the mask.
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FUNCTIONS = _words(_ELEMENTARY) | _words(_TORCH)
_DTYPES = frozenset(n for n in dir(torch) if isinstance(getattr(torch, n, None), torch.dtype))
METHODS = (_words(_ELEMENTARY) | _words(_METHODS) | _words(_HARMLESS_DUNDERS)) | {
    f"{n}_" for n in _words(_ELEMENTARY) if hasattr(torch.Tensor, f"{n}_")
}
HARMLESS_DUNDERS = _words(_HARMLESS_DUNDERS)
LIBRARY = (
    frozenset(f"torch.{n}" for n in _FUNCTIONS | _DTYPES)
    | frozenset(f"torch.nn.{n}" for n in _words(_NN))
    | frozenset(f"numpy.{n}" for n in _words(_NUMPY))
    | frozenset(f"{m}.{n}" for m, names in _LIBRARIES.items() for n in names.split())
)


def plain(name: str) -> str:
    """A name without module, underscores (also the in-place one), capitals and number of dimensions (1d, 2d, 3d)."""
    bare = name.rpartition(".")[2].replace("_", "").lower()
    return re.sub(r"[123]d$", "", bare)


@cache
def refused(forbidden: tuple[str, ...]) -> frozenset[str]:
    """The forbidden names of an exercise and those of related functions, spelled as ``plain`` returns them."""
    return frozenset(plain(n) for n in forbidden_names(forbidden))


@cache
def equivalents(forbidden: tuple[str, ...]) -> frozenset[str]:
    """Names that this list allows in general, but not if these names are forbidden."""
    return frozenset(n for name in forbidden for n in _EQUIVALENTS.get(name, ()))


def library(dotted: str) -> bool:
    """True if an answer may use this library name, given under the library's own name for it."""
    if dotted in LIBRARY:
        return True
    head, _, rest = dotted.partition(".")
    if any(part.startswith("_") for part in rest.split(".")):
        return rest in HARMLESS_DUNDERS and head in ("torch", "numpy", "math")
    if head in _WHOLE:
        known = sys.modules.get(head)
        return dotted not in _WHOLE_BUT and (known is None or hasattr(known, rest.split(".")[0]))
    if head == "builtins":
        return builtin(rest)
    if dotted.startswith("torch.Tensor."):
        return dotted.rpartition(".")[2] in METHODS
    # An attribute of something allowed, but never of a module: torch.float32.itemsize, torch.Size.numel.
    owner, _, leaf = dotted.rpartition(".")
    return owner in LIBRARY and leaf in METHODS


def builtin(name: str) -> bool:
    """True if an answer may use this built-in of Python."""
    return name in BUILTINS or name.endswith(("Error", "Exception", "Warning", "StopIteration"))
