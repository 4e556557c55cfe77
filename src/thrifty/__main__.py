"""``python -m thrifty`` and ``thrifty``: Ctrl-C while the command line is imported ends it like Ctrl-C later."""

import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command that was typed; return its exit code."""
    try:
        from thrifty.cli import main as run
    except KeyboardInterrupt:
        return INTERRUPTED
    return run()


if __name__ == "__main__":
    sys.exit(main())
