"""Finds what can change the meaning of names elsewhere in a notebook: patches, hooks, code from text, processes.

Applies to every statement, even if no answer reaches it. Experimenting with a library is fine; using its internals, or
reaching through it into the interpreter, is not.
"""

from .allowed import HARMLESS_DUNDERS
from .statements import Mention

# Modules that a notebook of this course may use outside the answers.
_MODULES = frozenset(
    """
torch numpy math cmath matplotlib mpl_toolkits seaborn pandas scipy sklearn einops jaxtyping torchvision anatomy
typing typing_extensions dataclasses collections itertools functools operator random time timeit statistics string re
json copy enum abc contextlib warnings numbers fractions decimal textwrap pprint tqdm ipywidgets IPython datetime
platform heapq bisect array hashlib logging traceback __future__ builtins os sys inspect types pathlib graphlib
secrets csv io unittest doctest pytest sympy transformers tempfile
""".split()
)
# Parts of these modules that a notebook may not use. (_ONLY lists the allowed parts of some modules.)
_UNDER = (
    "torch.ops torch.jit torch.library torch.overrides torch.fx torch.export torch.onnx torch.package torch.hub "
    "torch.serialization torch.load torch.multiprocessing torch.distributed torch.compiler torch.utils.cpp_extension "
    "torch.utils.hooks torch.nn.modules.module.register torch.autograd.graph torch.autograd.forward_ad torch.futures "
    "torch.classes torch.utils.mkldnn torch.utils.bundled_inputs torch.utils.dlpack torch.set_flush_denormal "
    "torch.utils.model_zoo torch.sys torch.os torch.torch_version torch.types torch.storage torch.random.fork_rng "
    "torch.utils.backend_registration torch.utils.swap_tensors torch.__future__ torch.utils.benchmark torch.monitor "
    "numpy.load numpy.f2py numpy.ctypeslib numpy.core numpy.lib numpy.testing numpy.set_numeric_ops "
    "numpy.distutils numpy.setbufsize scipy.LowLevelCallable scipy.weave pandas.eval pandas.read_pickle "
    "pandas.io sympy.sympify sympy.parse_expr sympy.lambdify sympy.parsing sympy.S sympy.utilities sympy.core "
    "typing.get_type_hints typing.ForwardRef typing_extensions.get_type_hints typing_extensions.ForwardRef "
    "inspect.getattr_static inspect.currentframe inspect.stack inspect.trace inspect.get_annotations "
    "inspect.getmembers string.Formatter numpy.memmap torch.from_file torch.UntypedStorage "
    "inspect.getclosurevars inspect.getmodule inspect.sys inspect.builtins inspect.importlib "
    "unittest.mock logging.config operator.call functools.singledispatch.register doctest.testmod "
    "traceback.sys warnings.sys timeit.sys timeit.main dataclasses.make_dataclass io.open_code sys.modules "
    "anatomy.program.runner anatomy.program.codec anatomy.judge anatomy.notebook.checks anatomy.moved "
    "anatomy.runner anatomy.judging anatomy.codec anatomy.compare anatomy.verdict anatomy.diagnosis anatomy.checks "
    "builtins.exec builtins.eval builtins.compile builtins.__import__ builtins.globals builtins.locals builtins.vars "
    "builtins.breakpoint builtins.setattr builtins.delattr builtins.__build_class__ builtins.__loader__ builtins.open"
).split()
# Modules that can be reached as attributes of others, because many modules import them: plt.sys is sys.
_PASSAGES = frozenset(
    """
sys os builtins importlib inspect types gc ctypes subprocess threading socket io pickle marshal code runpy signal
asyncio multiprocessing atexit weakref traceback linecache shutil pathlib posix pkgutil pydoc dis platform
""".split()
)
_ONLY = {
    "os": "path environ getcwd listdir sep linesep makedirs mkdir getenv cpu_count name",
    "sys": "version version_info executable platform maxsize float_info getsizeof path stdout byteorder implementation",
    "inspect": "getsource signature isfunction isclass getdoc Parameter ismodule getsourcelines",
    "types": "SimpleNamespace FunctionType.__name__ NoneType",
    "IPython": "display core.display __version__",
    "unittest": "TestCase main",
    "doctest": "",
    "pytest": "raises approx mark fixture",
    "tempfile": "TemporaryDirectory NamedTemporaryFile mkdtemp",
}
_BUILTINS = frozenset(
    "open exec eval compile __import__ globals locals vars breakpoint delattr __build_class__ __loader__".split()
)
_ATTRIBUTES = frozenset(
    """
_getframe currentframe f_back f_globals f_locals f_builtins f_code gi_frame cr_frame tb_frame ag_frame get_objects
get_referrers get_referents settrace setprofile _current_frames user_ns user_global_ns _C _VariableFunctions
DisableTorchFunction DisableTorchFunctionSubclass TorchFunctionMode TorchDispatchMode decompose _refs _decomp run_cell
run_line_magic run_cell_magic do_execute set_custom_exc register_magic_function ast_transformers ex input_transformers
input_transformers_cleanup input_transformers_post safe_execfile getoutput run_code push drop_by_id
register_forward_pre_hook register_module_forward_hook register_module_forward_pre_hook _exit fork popen kill killpg
abort execv setrlimit Thread exec_module load_module import_module meta_path path_hooks setrecursionlimit excepthook
displayhook unraisablehook set_int_max_str_digits addaudithook setswitchinterval addtrace
""".split()
)
_NOTEBOOK = frozenset("get_ipython In Out _ih _oh _dh _ __ ___ _i _ii _iii".split())
# Settings that notebooks may assign: plots, warnings, numerical precision.
_SET = ("matplotlib", "torch.backends", "os.environ", "warnings", "seaborn", "pandas.options", "numpy.random")


def changes_meaning(m: Mention) -> bool:
    """True if a mention, wherever it is in the notebook, can change the meaning of other names."""
    if m.kind in ("library", "import"):
        return _reaches_under(m.name)
    if m.kind in ("attribute", "own", "own class", "store"):
        dunder = m.name.startswith("__") and m.name.endswith("__") and len(m.name) > 4
        return m.name in _ATTRIBUTES or (dunder and m.name not in HARMLESS_DUNDERS and m.name != "__dict__")
    if m.kind == "builtin":
        return m.name in _BUILTINS or m.name in ("getattr", "setattr")  # as a call they are not a mention
    if m.kind == "odd":
        return m.name in ("attrgetter", "type", "timeit", "__match_args__") or m.owner in ("library", "")
    if m.kind == "library store":
        return not m.name.startswith(_SET)
    if m.kind == "star":
        return m.name.split(".")[0] not in ("torch", "math", "numpy", "typing", "anatomy", "itertools", "functools")
    return m.kind == "module" and m.name.split(".")[0] not in ("matplotlib", "anatomy")


def free_is_dangerous(name: str) -> bool:
    """True if an unbound name is one of IPython's own, or a special name such as ``__builtins__``."""
    dunder = name.startswith("__") and name.endswith("__") and name not in HARMLESS_DUNDERS  # __builtins__
    return name in _NOTEBOOK or dunder or (name.startswith("_") and name[1:].strip("i").isdigit())


def _reaches_under(dotted: str) -> bool:
    head, _, rest = dotted.partition(".")
    if head not in _MODULES:
        return True
    parts = rest.split(".") if rest else []
    if any((p.startswith("_") and p not in HARMLESS_DUNDERS) or p in _PASSAGES for p in parts):
        return True
    if head in _ONLY and rest and not any(rest == a or rest.startswith(f"{a}.") for a in _ONLY[head].split()):
        return True
    return any(
        dotted == u or dotted.startswith(f"{u}.") or (u.endswith("register") and dotted.startswith(u)) for u in _UNDER
    )
