"""Write what ``docker compose up`` needs into a folder: a model of the heart data, tokens, and the table of patients.

python prepare.py [FOLDER]
"""

import secrets
import shutil
import sys
from pathlib import Path

import numpy as np

from thrifty import ThriftyClassifier, save
from thrifty.datasets import load_heart

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    """Fit the model, and write all files."""
    heart = load_heart(as_frame=True)
    folder.mkdir(exist_ok=True)
    diagnosis = np.where(heart.y == 1, "present", "absent")
    model = ThriftyClassifier(costs=heart.costs, budget=60, random_state=0).fit(heart.X, diagnosis)
    save(model, folder / "model.thrifty")
    shutil.copy(HERE / "sources.py", folder)
    heart.X.head(8).to_csv(folder / "examples.csv", index=False)
    (folder / "patients.sql").write_text(table_of(heart.X), encoding="utf-8")
    token, password = secrets.token_urlsafe(), secrets.token_urlsafe()
    (folder / "tokens.txt").write_text(f"{token}\n", encoding="utf-8")
    (folder / "database.env").write_text(
        f"POSTGRES_USER=thrifty\nPOSTGRES_DB=thrifty\nPOSTGRES_PASSWORD={password}\nPGPASSWORD={password}\n"
    )
    print(f"Wrote {folder}. The token of the service is in {folder / 'tokens.txt'}.")


def table_of(rows) -> str:
    """Return the SQL that makes the table of patients; the id of a patient is the number of the row."""
    columns = ", ".join(f"{name} double precision" for name in rows)
    values = (f"({i}, {', '.join(map(str, row))})" for i, row in enumerate(rows.to_numpy().tolist()))
    return f"CREATE TABLE patients (id integer PRIMARY KEY, {columns});\nINSERT INTO patients VALUES\n" + (
        ",\n".join(values) + ";\n"
    )


if __name__ == "__main__":
    main(Path(*sys.argv[1:]) if sys.argv[1:] else HERE / "service")
