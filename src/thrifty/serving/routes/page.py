"""The page for people: a few small files, which are read once and sent whole."""

import hashlib
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import Response

from thrifty.serving.problems import nothing_at
from thrifty.serving.service import Service

FOLDER = Path(__file__).parents[1] / "page"
INDEX = "index.html"
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def add_page(app: FastAPI, service: Service) -> None:
    """Add the page and its files to an application."""
    files = {path.name: file_reply(path) for path in FOLDER.iterdir()}

    @app.get("/", include_in_schema=False)
    async def show_page(request: Request) -> Response:
        return unless_known(request, files[INDEX])

    @app.get("/static/{name}", include_in_schema=False)
    async def send_file(request: Request, name: str) -> Response:
        if name not in files:
            raise nothing_at(request.url.path)
        return unless_known(request, files[name])


def file_reply(path: Path) -> Response:
    """Return a reply with a file, and a tag that changes with its content."""
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return Response(content, media_type=MEDIA_TYPES[path.suffix], headers={"ETag": tag})


def unless_known(request: Request, reply: Response) -> Response:
    """Return a reply, or a short one if the client has this file already."""
    tag = reply.headers["etag"]
    known = request.headers.get("if-none-match", "").replace("W/", "").split(",")
    return Response(status_code=304, headers={"ETag": tag}) if tag in map(str.strip, known) else reply
