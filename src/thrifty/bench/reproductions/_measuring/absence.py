"""The verdict on a claim whose results are missing."""

from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.results import Results


def not_run(claim: Claim, name: str, results: Results, what: str) -> Verdict:
    """Return the verdict "not run", with the first reason that the runs of a reproduction were left out."""
    reasons = [reason for key, reason in results.left_out.items() if key.name == name]
    errors = [result.error for result in results if result.key.name == name and result.error]
    why = next(iter(reasons + errors), "")
    return Verdict(claim, "not run", f"No results of {what}" + (f": {why}" if why else "."))
