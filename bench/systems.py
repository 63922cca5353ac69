"""The systems under test: how each is started, and what it needs before participants come."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.processes import Server, clean_environment, free_port

ROOT = Path(__file__).resolve().parents[1]
SUTS = ROOT / "bench" / "suts"
VENVS = ROOT / "var" / "bench"
PROJECT = ROOT / ".venv" / "bin" / "python"  # emostudy's own environment; the bare consumer gets the same versions
TOOLS = VENVS / "venv" / "bin" / "python"


@dataclass
class Place:
    """Where one run happens: a folder of its own, the mock's address, and the port of the system."""

    folder: Path
    mock: str
    model: str
    n: int
    second_line: int = 0  # milliseconds after which the stand-in of emostudy's second line answers
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    def env(self, **more: str) -> dict[str, str]:
        own = {"BENCH_LLM": self.mock, "BENCH_MODEL": self.model, "BENCH_DSN": str(self.folder / "bare.sqlite3")}
        return clean_environment() | own | {"PYTHONDONTWRITEBYTECODE": "1"} | more

    def run(self, *command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
        with self.log.open("ab") as log:
            arguments = [str(part) for part in command]
            subprocess.run(arguments, cwd=cwd, env=env or self.env(), stdout=log, stderr=log, check=True)


Start = Callable[[Place], Server]


@dataclass(frozen=True)
class System:
    """`adapter` is the name of its participants (adapters.py); without `start` they talk to the mock itself."""

    adapter: str
    start: Start | None = None
    python: Path | None = None  # what must be installed

    def is_installed(self) -> bool:
        return self.python is None or self.python.exists()


def served(place: Place, *command: str | Path, health: str, cwd: Path | None = None, **env: str) -> Server:
    """Started, and answering."""
    arguments = [str(part) for part in command]
    server = Server(arguments, cwd=cwd or place.folder, env=place.env(**env), log=place.log)
    try:
        server.wait_for(place.url + health)
    except RuntimeError:
        server.stop()
        raise
    return server


def bare(**env: str) -> Start:
    def start(place: Place) -> Server:
        daphne = ["-m", "daphne", "-v", "0", "-b", "127.0.0.1", "-p", str(place.port), "channels_app:application"]
        return served(place, PROJECT, *daphne, health="/health", cwd=SUTS, **env)

    return start


def relay(place: Place) -> Server:
    return served(place, TOOLS, SUTS / "relay_aiohttp.py", str(place.port), health="/health")


def emostudy(place: Place) -> Server:
    """As in production: `manage.py start`, then the study and its people, who stand before their first chat."""
    return with_people(place, "manage.py", "start")


def emostudy_watched(place: Place) -> Server:
    """With a second line of the risk screen, which the mock stands in for."""
    return with_people(place, "manage.py", "start", more=["--second-line", str(place.second_line)])


def emostudy_on_daphne(place: Place) -> Server:
    """On Daphne as it comes, without the back-pressure of emostudy.server: what that is worth."""
    for command in ("migrate", "collectstatic"):
        place.run(PROJECT, "manage.py", command, "--noinput", env=env_of_emostudy(place))
    address = ["--bind", "127.0.0.1", "--port", str(place.port)]
    return with_people(place, "-m", "daphne", "--verbosity", "0", *address, "emostudy.asgi:application")


def env_of_emostudy(place: Place) -> dict[str, str]:
    return place.env(VAR_DIR=str(place.folder / "var"), HOST="127.0.0.1", PORT=str(place.port))


def with_people(place: Place, *command: str, more: Sequence[str] = ()) -> Server:
    env = env_of_emostudy(place)
    server = Server([str(PROJECT), *command], cwd=ROOT, env=env, log=place.log)
    try:
        server.wait_for(f"{place.url}/readyz")
        people = [str(place.folder / "people.json"), str(place.folder / "warm.json")]
        count = ["--count", str(place.n), "--warm", "2"]
        place.run(
            PROJECT, "-m", "bench.emostudy_rows", "make", place.mock, place.model, *people, *count, *more, env=env
        )
    except (RuntimeError, subprocess.CalledProcessError):
        server.stop()
        raise
    return server


def chainlit(place: Place) -> Server:
    app = [SUTS / "chainlit_app.py", "--headless", "--host", "127.0.0.1", "--port", str(place.port)]
    return served(place, python_of("chainlit"), "-m", "chainlit", "run", *app, health="/")


def gradio(place: Place) -> Server:
    app = [SUTS / "gradio_app.py", str(place.port)]
    return served(place, python_of("gradio"), *app, health="/config", GRADIO_ANALYTICS_ENABLED="False")


def otree(place: Place) -> Server:
    """In a copy of its folder: it keeps its database beside the code."""
    app, bin_ = place.folder / "otree_app", python_of("otree").parent
    shutil.copytree(SUTS / "otree_app", app)
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    env = {"OTREE_REST_KEY": "bench", "OTREE_PRODUCTION": "1", "BENCH_OTREE": "async", "PATH": path}
    place.run(bin_ / "otree", "resetdb", "--noinput", cwd=app, env=place.env(**env))
    address = f"127.0.0.1:{place.port}"
    return served(place, bin_ / "otree", "prodserver1of2", address, health="/demo", cwd=app, **env)


def python_of(peer: str) -> Path:
    return VENVS / peer / "bin" / "python"


SYSTEMS = {
    "direct": System("direct"),
    "relay": System("bare", relay, TOOLS),
    "bare": System("bare", bare(), PROJECT),
    "emostudy": System("emostudy", emostudy, PROJECT),
    "emostudy-watched": System("emostudy", emostudy_watched, PROJECT),
    "emostudy-on-daphne": System("emostudy", emostudy_on_daphne, PROJECT),
    "chainlit": System("chainlit", chainlit, python_of("chainlit")),
    "gradio": System("gradio", gradio, python_of("gradio")),
    "otree": System("otree", otree, python_of("otree")),
}
