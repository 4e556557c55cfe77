"""Driving sessions over HTTP."""


def answer(http, state, values, **headers):
    """Answer the present step of a session; return the reply."""
    chosen = {ask["feature"]: values[ask["feature"]] for ask in state["asks"]}
    return http.post(f"/sessions/{state['id']}", json={"step": state["step"], "values": chosen}, headers=headers)


def finish(http, values, **limits):
    """Run a session to its end; return all its states."""
    states = [http.post("/sessions", json=limits).json()]
    while states[-1]["status"] == "asking":
        states.append(answer(http, states[-1], values).json())
    return states
