"""Sessions: the service says what it needs next and what that costs, and values come back."""

from fastapi import FastAPI, Request
from starlette.responses import Response

from thrifty.serving.bodies import Answer, SessionState, Start
from thrifty.serving.gate import client_of
from thrifty.serving.reply import Reply
from thrifty.serving.routes.documented import gives, takes
from thrifty.serving.routes.reading import body_of
from thrifty.serving.service import Service


def add_sessions(app: FastAPI, service: Service) -> None:
    """Add the endpoints of sessions to an application."""

    @app.post("/sessions/{session_id}", **takes(Answer, SessionState, 404, 409, 503))
    async def answer_step(request: Request, session_id: str) -> Response:
        """Answer a step. An answer that was received may be sent again: it is charged once."""
        body = await body_of(request, Answer)
        return Reply(service.sessions.answer(client_of(request), session_id, body.step, body.values))

    @app.post("/sessions", **takes(Start, SessionState, 429, 503, status=201))
    async def start_session(request: Request) -> Response:
        """Start a session for one row."""
        body = await body_of(request, Start)
        session_id, state = service.sessions.start(client_of(request), body.cap, body.budget)
        return Reply(state, 201, {"Location": f"/sessions/{session_id}"})

    @app.get("/sessions/{session_id}", **gives(SessionState, 404, 503))
    async def read_session(request: Request, session_id: str) -> Response:
        """Return the state of a session: what it asks for, what it has cost, what it would answer now."""
        return Reply(service.sessions.state(client_of(request), session_id))

    @app.delete("/sessions/{session_id}", **gives(None, 404, 503, status=204))
    async def end_session(request: Request, session_id: str) -> Response:
        """Remove a session."""
        service.sessions.end(client_of(request), session_id)
        return Response(status_code=204)
