"""``thrifty bench`` and ``python -m thrifty.bench``."""

import pytest

from thrifty.bench.__main__ import main


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


def test_the_command_is_part_of_the_command_line(thrifty, refused):
    done = thrifty("bench", "--list", "--only", "heart,pima")
    assert [line.split()[0] for line in done.out.splitlines()] == ["heart", "pima"]
    assert "--only is 'nothing'" in refused("bench", "--only", "nothing")
