"""PostgreSQL as the gradebook: a real server on a free port, one grader, then three at the same time."""

import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from autograder.grading.book.gradebook import GradebookWriter

from ..waiting import patiently
from .cheats.base import ATTENTION, START
from .classroom import ANSWERS, command, course, environment, grade, grades, notebook, submit

pytestmark = pytest.mark.xdist_group("postgres")  # the class is set up once


def programs():
    """Folder of initdb and pg_ctl, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    path = found[-1] if found else shutil.which("initdb")
    return os.path.dirname(os.path.realpath(path)) if path else None


@pytest.fixture(scope="module")
def server():
    """URL of an empty database on a server that this fixture starts and stops."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="anatomy-postgres-", dir="/tmp"))
    # The server refuses to run as root: then everything runs as the user that Debian's package created.
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if become:
        shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data, tools = folder / "data", programs()
    run = lambda *args: subprocess.run([*become, *args], check=True, capture_output=True, cwd="/", timeout=120)
    run(f"{tools}/initdb", "-D", str(data), "-U", "teacher", "--auth=trust", "-E", "UTF8", "--no-sync")
    run(
        f"{tools}/pg_ctl",
        "-D",
        str(data),
        "-w",
        "-l",
        str(folder / "log"),
        "-o",
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off",
        "start",
    )
    try:
        yield f"postgresql+psycopg2://teacher@127.0.0.1:{port}/postgres"
    finally:
        run(f"{tools}/pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def school(root, url, size=9):
    course(root)
    with open(root / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write(f"\nc.CourseDirectory.db_url = {url!r}\n")
    for i in range(size):
        submit(root, f"s{i}", notebook(list(ANSWERS.values())[i % 4]))
    submit(root, "s0", notebook(unit=ATTENTION), unit=ATTENTION)
    return root


def rows(url, text, **values):
    with sa.create_engine(url).connect() as connection:
        return connection.execute(sa.text(text), values).all()


@pytest.fixture(scope="module")
def graded(server, tmp_path_factory, sandbox):
    """(root, finished process) of one grader on an empty database."""
    root = school(tmp_path_factory.mktemp("postgres") / "one", server)
    return root, grade(root, "--workers", "1")


def test_one_grader(server, graded):
    root, done = graded
    assert done.returncode == 0, done.stderr
    assert not (root / "gradebook.db").exists()
    assert {r["student"]: r["score"] for r in grades(root) if r["unit"] == START} == {
        f"s{i}": ["1", "0", "0.666667", "0"][i % 4] for i in range(9)
    }
    assert rows(server, "SELECT count(*) FROM anatomy_graded")[0][0] == 10


def test_a_manual_score_survives_there_too(server, graded):
    root, _ = graded
    with GradebookWriter(server, "transformer-anatomy") as writer:
        writer.gradebook.find_grade("check-start-weighted_average", START, START, "s1").manual_score = 0.4
        writer.gradebook.db.commit()
    done = grade(root, "--workers", "1", "--force", "--student", "s1")
    assert done.returncode == 0, done.stderr
    assert next(r for r in grades(root) if r["student"] == "s1" and r["unit"] == START)["score"] == "0.4"
    with open(root / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write("\nc.CourseDirectory.db_url = 'postgresql+psycopg2://teacher:hidden@127.0.0.1:1/none'\n")
    refused = grade(root)
    assert refused.returncode == 2 and "hidden" not in refused.stderr and "Traceback" not in refused.stderr


def emptied(server):
    with sa.create_engine(server, isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(sa.text("DROP SCHEMA public CASCADE"))
        connection.execute(sa.text("CREATE SCHEMA public"))


OPEN = """
import os, sys, time
from autograder.grading.book.gradebook import GradebookWriter
url, many = sys.argv[1:]

def opens(moment):
    time.sleep(max(0.0, moment - time.time()))
    GradebookWriter(url, "transformer-anatomy").close()

def forked(moment):
    if child := os.fork():
        return child
    status = 1
    try:
        opens(moment)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)

for _ in sys.stdin:
    moment = time.time() + 0.2
    children = [forked(moment) for _ in range(int(many))]
    print(*[os.waitpid(child, 0)[1] for child in children], flush=True)
"""


def test_an_empty_gradebook_opened_by_many_at_the_same_moment(server):
    """Each creates missing rows, here the course; no two collide, and nothing is logged."""
    emptied(server)
    GradebookWriter(server, "transformer-anatomy").close()
    many = 6
    with subprocess.Popen(
        [sys.executable, "-c", OPEN, server, str(many)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(15):
            with sa.create_engine(server).begin() as connection:
                connection.execute(sa.text("DELETE FROM course"))
            process.stdin.write("now\n")
            process.stdin.flush()
            assert process.stdout.readline().split() == ["0"] * many
            assert rows(server, "SELECT id FROM course") == [("transformer-anatomy",)]
        _, err = process.communicate()
    assert process.returncode == 0 and err == "", err


def test_several_graders_at_once(server, tmp_path, sandbox):
    """They start with an empty gradebook and the same folder: all succeed, and each score is stored exactly once."""
    emptied(server)
    roots = [school(tmp_path / f"grader{i}", server) for i in range(3)]
    processes = [
        subprocess.Popen(
            command("--workers", "1"),
            cwd=root,
            env=environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for root in roots
    ]
    for process in processes:
        out, err = patiently(process.communicate, seconds=300)
        assert process.returncode == 0, out + err
        assert "10 submissions" in out and "Traceback" not in err
    assert rows(server, "SELECT count(*), count(DISTINCT student_id || unit) FROM anatomy_graded") == [(10, 10)]
    assert rows(server, "SELECT count(*) FROM submitted_assignment") == [(10,)]
    doubled = rows(server, "SELECT notebook_id, cell_id, count(*) FROM grade GROUP BY 1, 2 HAVING count(*) > 1")
    assert not doubled
    scores = rows(
        server,
        """SELECT s.student_id, g.auto_score FROM grade g JOIN submitted_notebook n ON g.notebook_id = n.id
                  JOIN submitted_assignment s ON n.assignment_id = s.id JOIN assignment a ON s.assignment_id = a.id
                  JOIN base_cell c ON g.cell_id = c.id WHERE a.name = :unit AND c.name = :cell""",
        unit=START,
        cell="check-start-weighted_average",
    )
    assert dict(map(tuple, scores)) == {f"s{i}": [1, 0, 0.666667, 0][i % 4] for i in range(9)}
