"""The command line: ``python -m judgekit``, and the console script."""

from contextlib import suppress


def main() -> int:
    """`judgekit.cli.main`; an interrupt while that is imported ends without a word."""
    with suppress(KeyboardInterrupt):
        from judgekit.cli import main as command

        return command()
    return 130


if __name__ == "__main__":
    raise SystemExit(main())
