"""The command that measures everything: resumes after a kill or failure, needs no matplotlib, keeps its time limit."""

import json
import os
import subprocess
import sys
import time

import pytest
import torch

from autograder import ROOT
from autograder.recording.experiments import __main__ as command
from autograder.recording.experiments import resume
from autograder.recording.experiments.resume import OUT_OF_TIME, Rows
from autograder.recording.experiments.writing import arguments

# sympy is not blocked: torch installs it, and its optimizers import it.
BLOCKER = """
import sys
for name in ("matplotlib", "ipywidgets", "anywidget", "IPython", "jupyter_core", "pandas", "scipy"):
    sys.modules[name] = None
"""
TRAIN = "from autograder.recording.experiments import leak; leak.main({argv!r}, leak.Setting(4, 2, {seeds}, 4))"


def process(code, tmp_path, **options):
    """A process in which matplotlib and Jupyter are missing, and also in its child processes."""
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(BLOCKER)
    path = os.pathsep.join(map(str, (site, ROOT, ROOT / "course")))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def options(tmp_path, *more):
    return command.parse(["--out", str(tmp_path), *more])


def pretend(tmp_path, codes):
    """``command`` for run(): each experiment makes a file of its name and exits with its status in ``codes``."""

    def one(name, options, minutes):
        return [sys.executable, "-c", f"open({str(tmp_path / name)!r}, 'w').close(); raise SystemExit({codes[name]})"]

    return one


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_failure_is_named_and_stops_nothing(tmp_path, jobs):
    codes = {"leak": 0, "length": 3, "warmup": 0}
    status = command.run(list(codes), options(tmp_path), jobs, pretend(tmp_path, codes))
    assert status == codes and all((tmp_path / name).exists() for name in codes)


def test_exit_status_names_what_failed(tmp_path, monkeypatch, capsys):
    result = {"leak": 1, "length": 0, "warmup": OUT_OF_TIME}
    monkeypatch.setattr(command, "run", lambda names, options, jobs: {n: result[n] for n in names})
    only = ["--only", "leak", "--only", "length", "--only", "warmup"]
    assert command.main(["--out", str(tmp_path), *only]) == 1
    said = capsys.readouterr()
    assert "failed: leak" in said.err and "measured: length\n" in said.out and "goes on: warmup" in said.out
    result["leak"] = 0
    assert command.main(["--out", str(tmp_path), *only]) == OUT_OF_TIME
    result["warmup"] = 0
    assert command.main(["--out", str(tmp_path), *only]) == 0


def test_nothing_is_started_when_the_time_is_over(tmp_path):
    late = options(tmp_path, "--minutes", "0")
    assert command.run(["leak"], late, 1, pretend(tmp_path, {"leak": 0})) == {"leak": OUT_OF_TIME}
    assert not (tmp_path / "leak").exists()


def test_what_is_there_is_not_measured_again(tmp_path):
    chosen = options(tmp_path)
    assert not command.done("leak", chosen)
    process(TRAIN.format(argv=["--out", str(tmp_path)], seeds=1), tmp_path).wait()
    assert command.done("leak", chosen)
    assert not command.done("leak", options(tmp_path, "--setting", "large"))
    path = tmp_path / "leak.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "made": {**data["made"], "torch": "1.0.0"}}))
    assert not command.done("leak", chosen), "another torch made it"


def test_a_killed_run_goes_on(tmp_path):
    code = TRAIN.format(argv=["--out", str(tmp_path)], seeds=20)
    killed, partial = process(code, tmp_path), tmp_path / "leak.partial"
    lines = lambda: partial.read_text().splitlines() if partial.exists() else []
    end = time.monotonic() + 60
    while len(lines()) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    killed.kill()
    killed.communicate()
    kept = lines()[:-1]  # the last one may be cut off
    assert 3 <= len(kept) < 80 and not (tmp_path / "leak.json").exists()
    fewer = TRAIN.format(argv=["--out", str(tmp_path), "--minutes", "0.05"], seeds=20)
    out, _ = process(fewer, tmp_path).communicate()
    assert f"{len(kept)} of 80 rows are there already" in out or f"{len(kept) + 1} of 80 rows" in out
    assert lines()[: len(kept)] == kept, "what was measured is kept as it was"
    if "out of time" not in out:
        assert json.loads((tmp_path / "leak.json").read_text())["made"]["seconds"] >= 0


def test_rows_stop_in_time_and_say_what_is_left(tmp_path, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(resume.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(resume.time, "perf_counter", lambda: now[0])

    def row():
        now[0] += 20
        return 1

    rows = Rows("x", arguments("").parse_args(["--out", str(tmp_path), "--minutes", "1"]), {}, 4)
    rows.row("a", row), rows.row("b", row)
    with pytest.raises(SystemExit) as stopped:  # 20 of 60 seconds are left, and a row takes 20
        rows.row("c", row)
    said = capsys.readouterr().out
    assert stopped.value.code == OUT_OF_TIME and "x [1/4] a  20.0 s, about 60 s left" in said and "2 of 4 rows" in said


def test_it_runs_with_torch_numpy_and_safetensors_only(tmp_path):
    """Every script can be imported, even without sympy; one sentence says that figures were not drawn."""
    code = (
        "import importlib, sys; sys.modules['sympy'] = None; from autograder.recording.experiments import "
        "__main__ as m; [importlib.import_module('autograder.recording.experiments.' + n) for n in m.NAMES]; "
        f"status = m.main(['--only', 'decode', '--minutes', '0.15', '--out', {str(tmp_path)!r}]); "
        "m.draw(m.parse([])); sys.exit(status)"
    )
    done = process(code, tmp_path)
    out, err = done.communicate()
    assert done.returncode in (0, OUT_OF_TIME), err
    assert "decode [1/18] 1024 tokens, 1 heads" in out
    assert "The figures were not drawn, because matplotlib is not here" in out


def test_the_setting_follows_the_device_and_has_its_own_folder(tmp_path):
    at = lambda *more: arguments("").parse_args(["--out", str(tmp_path), *more])
    assert (at().setting, at().out) == ("small", tmp_path)
    assert (at("--device", "cuda").setting, at("--device", "cuda").out) == ("large", tmp_path / "large")
    assert at("--device", "cuda", "--setting", "small").out == tmp_path
    assert command.folder(options(tmp_path, "--device", "cuda")) == tmp_path / "large"


def test_estimates_of_the_large_setting_fit_into_27_minutes(tmp_path):
    assert set(command.ESTIMATED) == set(command.NAMES)
    on_gpu = options(tmp_path, "--device", "cuda")
    planned = command.planned(on_gpu)
    alone = command.expected([n for n in planned if n in command.TIMED], on_gpu)
    trained = command.expected([n for n in planned if n in command.TRAINED], on_gpu)
    assert alone < 10 * 60 and alone + 0.4 * trained < 27 * 60


def test_what_only_waits_on_a_gpu_is_measured_there_if_it_is_named(tmp_path):
    named = options(tmp_path, "--device", "cuda", "--only", "scaling_law")
    assert command.planned(named) == ["scaling_law"]
    left_out = set(command.NAMES) - set(command.planned(options(tmp_path, "--device", "cuda")))
    assert left_out == {"scaling_law"} and command.planned(options(tmp_path)) == list(command.NAMES)


def test_the_method_lists_every_experiment_with_its_estimate():
    text = (ROOT / "autograder" / "recording" / "METHOD.md").read_text()
    rows = [row.strip("|").split("|") for row in text.splitlines() if row.startswith("| ")]
    found = {row[0].strip(): row[-1].strip() for row in rows}
    assert {name: found.get(name) for name in command.NAMES} == {n: str(s) for n, s in command.ESTIMATED.items()}
    total = sum(command.ESTIMATED.values()) / 60
    assert f"Together {total:.0f} minutes" in text
    assert "--jobs 6 --minutes 9" in text and set(command.parse(["--jobs", "6", "--minutes", "9"]).__dict__) >= {"jobs"}


def test_no_gpu_is_one_sentence(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit, match="No CUDA device here"):
        command.main(["--device", "cuda", "--out", str(tmp_path)])
