"""The sources of the example: all tests of a patient are in one table of PostgreSQL."""

import os

from thrifty.datasets import load_heart
from thrifty.runtime import SQLSource

tests = load_heart().names
patients = SQLSource(
    os.environ["DATABASE_URL"],
    f"SELECT id, {', '.join(tests)} FROM patients WHERE id IN :keys",
    provides=tests,
    key="id",
    name="patients",
)
