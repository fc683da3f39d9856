"""A learner's installations: the student package with an environment of only the learner's lock file, and the wheel.

Each is made once per run. The staff's libraries are missing there, so that code that needs one of them fails.
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
    """This process's environment variables without those that point to the checkout's own environment."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    return env | {"PATH": os.pathsep.join(p for p in env["PATH"].split(os.pathsep) if ".venv" not in p)}


def course_folder(temporary: pytest.TempPathFactory) -> Path:
    """The unpacked student package after ``make setup``: its ``.venv`` has the lock file's packages and the course."""

    def make(folder: Path) -> None:
        with zipfile.ZipFile(io.BytesIO(package.archive(package.contents()))) as archive:
            archive.extractall(folder)
        # Most installed modules are never imported here; the others are compiled on import.
        subprocess.run(
            ["make", "setup", "COMPILE=true"], cwd=folder / package.NAME, env=clean_environment(), check=True
        )

    return _in_place(temporary, "students", make) / package.NAME


def built_wheel(temporary: pytest.TempPathFactory) -> Path:
    """The course's wheel, built once."""
    (built,) = made_once(temporary, "built-wheel", lambda folder: wheel.build(wheel.contents(), folder)).glob("*.whl")
    return built


def wheel_python(temporary: pytest.TempPathFactory) -> Path:
    """Python of an environment with the course's wheel and the libraries of the learner's lock file."""

    def make(folder: Path) -> None:
        install(built_wheel(temporary), folder / "env", libraries(temporary))

    return _in_place(temporary, "wheel", make) / "env" / "bin" / "python"


def libraries(temporary: pytest.TempPathFactory) -> Path:
    """The folder with the packages of the learner's lock file."""
    (found,) = (course_folder(temporary) / ".venv" / "lib").glob("python*/site-packages")
    return found


def install(built: Path, env: Path, libraries: Path) -> None:
    """Makes an environment with a wheel and another environment's libraries, but not with the course from there."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    (packages,) = (env / "lib").glob("python*/site-packages")
    # A line adds a folder without reading the .pth files in it, one of which points to another copy of the course.
    (packages / "libraries.pth").write_text(f"{libraries}\n")
    put(built, env)


def put(built: Path, env: Path) -> None:
    """Installs a wheel in an environment, or replaces it by a newer one."""
    pip = [sys.executable, "-m", "pip", "--python", str(env / "bin" / "python"), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", str(built)], check=True)


def _in_place(temporary: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Like ``made_once``, for folders that can't be moved: environments contain their own path."""

    def at(folder: Path) -> None:
        place = folder.parent / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        make(place)
        (folder / "place").write_text(str(place))

    return Path((made_once(temporary, f"{name}-place", at) / "place").read_text())
