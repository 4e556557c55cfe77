"""``thrifty bench`` and ``python -m thrifty.bench``."""

import pytest

from thrifty.bench.__main__ import main
from thrifty.bench.results import Result
from thrifty.bench.runs import Key


def test_the_list_names_every_part(capsys):
    assert main(["--list"]) == 0
    printed = capsys.readouterr().out
    assert "heart " in printed
    assert "runs" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nothing"], "--only is 'nothing'; expected some of: race, reproductions, scaling, heart"),
        (["--jobs", "0"], "--jobs is 0; expected a number of at least 1."),
        (["--limit", "0"], "--limit is 0; expected a number of seconds above 0."),
        (["--seconds", "-1"], "--seconds is -1; expected a number of seconds above 0."),
        (["--html", "nowhere/report.html"], "--html is nowhere/report.html; its folder does not exist."),
        (["--html", "."], "--html is ., which is a folder; expected a file."),
        (
            ["--report", "--results", "none.jsonl"],
            "--results is none.jsonl, which does not exist; --report needs a file",
        ),
    ],
)
def test_bad_options_are_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_report_of_an_empty_file_computes_nothing(tmp_path, capsys):
    html, empty = tmp_path / "report.html", tmp_path / "empty.jsonl"
    empty.touch()
    assert main(["--only", "heart", "--report", "--results", str(empty), "--html", str(html)]) == 0
    assert "race: not run" in capsys.readouterr().out
    assert html.exists()


def test_results_of_another_version_are_one_line(tmp_path, capsys):
    path = tmp_path / "old.jsonl"
    values = {"points": [{"spend": 1.0, "score": 0.5, "held_out": [1.0, 0.5]}], "floor": 0.5, "total": 2.0}
    path.write_text(Result(Key("heart", 0, "lightgbm-full"), values).to_line() + "\n")
    assert main(["--only", "heart", "--report", "--results", str(path)]) == 2
    assert "old.jsonl has results of another version of the suite: 'n_test' is missing." in capsys.readouterr().err


def test_a_summary_needs_results(tmp_path, capsys):
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    arguments = ["--only", "heart", "--report", "--results", str(empty), "--summary", str(tmp_path / "s.json")]
    assert main(arguments) == 2
    assert "--summary needs results, but" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_told_before_anything_is_computed(capsys):
    assert main(["--only", "heart", "--results", "/proc/results.jsonl"]) == 2
    assert "--results is /proc/results.jsonl, which cannot be written" in capsys.readouterr().err


def test_the_command_is_part_of_the_command_line(thrifty, refused):
    done = thrifty("bench", "--list", "--only", "heart,pima")
    assert [line.split()[0] for line in done.out.splitlines()] == ["heart", "pima"]
    assert "--only is 'nothing'" in refused("bench", "--only", "nothing")
