"""JupyterHub for the course on one machine: docs/jupyterhub.md says how to install it, and tests/hub/ runs this file.

Students and instructors have accounts on the machine. Students run the student package; one account, the teacher's,
runs the checkout, and assistants may open its server.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The unpacked student package with its .venv: every student can read it, and none can write into it.
STUDENTS = Path(os.environ.get("ANATOMY_STUDENTS", "/opt/transformer-anatomy"))
# The checkout with its .venv, the gradebook and .secret: the teacher's own, closed to everybody else (chmod 700).
COURSE = Path(os.environ.get("ANATOMY_COURSE", "/srv/transformer-anatomy"))
TEACHER = os.environ.get("ANATOMY_TEACHER", "teacher")
ASSISTANTS = os.environ.get("ANATOMY_ASSISTANTS", "").split()

c = get_config()  # noqa: F821

# A web server with a certificate stands in front of this address.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.ConfigurableHTTPProxy.command = [str(Path(sys.prefix) / "bin" / "configurable-http-proxy")]

# Who may log in: the members of these groups of the machine, with the passwords of their accounts.
c.PAMAuthenticator.allowed_groups = {"students", "instructors"}
c.Authenticator.allowed_users = {TEACHER}  # known from the start, so that an assistant may come first
c.JupyterHub.load_roles = [
    {
        "name": "assistants",
        "description": f"grade on the server of {TEACHER}",
        "scopes": [f"servers!user={TEACHER}", f"access:servers!user={TEACHER}", f"read:users:name!user={TEACHER}"],
        "users": ASSISTANTS,
    }
]

c.Spawner.default_url = "/lab"
# Where a whole class begins at nine a server takes minutes to answer: ended after 30 seconds, as the hub does by
# itself, it would only have to begin again.
c.Spawner.start_timeout = c.Spawner.http_timeout = 600
c.Spawner.cmd = [str(STUDENTS / ".venv/bin/python"), "-m", "jupyterhub.singleuser"]
# The Assignment List instead of the instructors' buttons, and no question about Jupyter news.
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": str(HERE / "students")}


def choose_environment(spawner):
    """The teacher gets the checkout: nbgrader finds its configuration in the folder where the server starts."""
    if spawner.user.name == TEACHER:
        python = str(COURSE / ".venv/bin/python")
        spawner.cmd = ["env", f"--chdir={COURSE}", python, "-m", "jupyterhub.singleuser"]
        spawner.notebook_dir = str(COURSE)
        spawner.environment = {}


c.Spawner.pre_spawn_hook = choose_environment
