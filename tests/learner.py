"""What a learner has: the student package with an environment of the learner's lock alone, and the wheel beside it.

Each is made once in a run. Here the staff's libraries are out of sight, so that what needs one of them fails.
"""

import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.build import package, wheel

from .once import made_once

FOREIGN = ("VIRTUAL_ENV", "MAKE", "MFLAGS", "JUPYTER", "PYTHON", "ANATOMY")


def clean_environment() -> dict[str, str]:
    """This process's variables without those that lead to the checkout's own environment."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    return env | {"PATH": os.pathsep.join(p for p in env["PATH"].split(os.pathsep) if ".venv" not in p)}


def course_folder(temporary: pytest.TempPathFactory) -> Path:
    """The student package, unpacked, in which ``make setup`` has run: its ``.venv`` holds the lock and the course."""

    def make(folder: Path) -> None:
        with zipfile.ZipFile(io.BytesIO(package.archive(package.contents()))) as archive:
            archive.extractall(folder)
        # Most of what is installed is never imported here: each module is compiled when it is.
        env = clean_environment() | {"PIP_NO_COMPILE": "1"}
        subprocess.run(["make", "setup"], cwd=folder / package.NAME, env=env, check=True)

    return _in_place(temporary, "students", make) / package.NAME


def built_wheel(temporary: pytest.TempPathFactory) -> Path:
    """The course's wheel."""
    (built,) = made_once(temporary, "built-wheel", lambda folder: wheel.build(wheel.contents(), folder)).glob("*.whl")
    return built


def wheel_python(temporary: pytest.TempPathFactory) -> Path:
    """Python of an environment in which the course is the wheel, with the libraries of the learner's lock."""

    def make(folder: Path) -> None:
        install(built_wheel(temporary), folder / "env", libraries(temporary))

    return _in_place(temporary, "wheel", make) / "env" / "bin" / "python"


def libraries(temporary: pytest.TempPathFactory) -> Path:
    """Folder with what the learner's lock installs."""
    (found,) = (course_folder(temporary) / ".venv" / "lib").glob("python*/site-packages")
    return found


def install(built: Path, env: Path, libraries: Path) -> None:
    """Makes an environment with a wheel that sees the libraries of another one, and not the course there."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    (packages,) = (env / "lib").glob("python*/site-packages")
    # One line adds a folder; the .pth files in it, which lead to another copy of the course, are not read.
    (packages / "libraries.pth").write_text(f"{libraries}\n")
    put(built, env)


def put(built: Path, env: Path) -> None:
    """Installs a wheel, or a newer one."""
    pip = [sys.executable, "-m", "pip", "--python", str(env / "bin" / "python"), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", str(built)], check=True)


def _in_place(temporary: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """As ``made_once``, for what can't be moved: environments hold their own path."""

    def at(folder: Path) -> None:
        place = folder.parent / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        make(place)
        (folder / "place").write_text(str(place))

    return Path((made_once(temporary, f"{name}-place", at) / "place").read_text())
