"""Sessions: the service says what it needs next and what that costs, and values come back."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from thrifty.serving.bodies import Answer, SessionState, Start
from thrifty.serving.gate import client_of
from thrifty.serving.reply import Reply
from thrifty.serving.routes.documented import problems
from thrifty.serving.service import Service

STATE = {"model": SessionState}


def session_routes(service: Service) -> APIRouter:
    """Return the routes of sessions."""
    router = APIRouter(tags=["sessions"], prefix="/sessions")

    @router.post("", status_code=201, response_model=None, responses={201: STATE, **problems(429)})
    async def start_session(request: Request, body: Start) -> Response:
        """Start a session for one row."""
        state = service.sessions.start(client_of(request), body.cap, body.budget)
        return Reply(state, 201, {"Location": f"/sessions/{state['id']}"})

    @router.get("/{session_id}", response_model=None, responses={200: STATE, **problems(404, body=False)})
    async def read_session(request: Request, session_id: str) -> Response:
        """Return the state of a session: what it asks for, what it has cost, what it would answer now."""
        return Reply(service.sessions.state(client_of(request), session_id))

    @router.post("/{session_id}", response_model=None, responses={200: STATE, **problems(404, 409)})
    async def answer_step(request: Request, session_id: str, body: Answer) -> Response:
        """Answer a step. An answer that was received may be sent again: it is charged once."""
        return Reply(service.sessions.answer(client_of(request), session_id, body.step, body.values))

    @router.delete("/{session_id}", status_code=204, response_model=None, responses=problems(404, body=False))
    async def end_session(request: Request, session_id: str) -> Response:
        """Remove a session."""
        service.sessions.end(client_of(request), session_id)
        return Response(status_code=204)

    return router
