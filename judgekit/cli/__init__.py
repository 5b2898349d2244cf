"""The command line: judge, score, label and rate one's own files, attack judges, collect responses; convert files,
fetch data, show the verdict store.

Heavy modules are imported where they are used, so that ``--help`` and bad input are answered at once.
"""

import os
import sys
from typing import Annotated

import typer

from judgekit import __version__
from judgekit.cli.answers import collect, rate
from judgekit.cli.attacking import attack
from judgekit.cli.converting import convert
from judgekit.cli.fetching import fetch, names_of, store
from judgekit.cli.labelling import label
from judgekit.cli.making import new
from judgekit.cli.messages import DONE, INTERRUPTED, Command, ending, silence_stdout, tell
from judgekit.cli.running import judge
from judgekit.cli.scoring import score

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Judge or label pairs of responses, score verdicts, rate single answers, attack judges, collect responses, "
    "convert files of others, make runs, fetch data, list names, and show the verdict store. Exit codes: 0 done; 2 "
    "bad usage or input, nothing is written; 3 finished with failed items; 130 interrupted; 1 anything else.",
)
for _command in (judge, score, rate, attack, label, collect, convert, new, fetch, store):
    app.command(cls=Command)(_command)
app.command("list")(names_of)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"judgekit {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, the console script ``judgekit``; returns the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        command = typer.main.get_command(app)
        if "_JUDGEKIT_COMPLETE" in os.environ:  # the shell asks what a word may become
            command.main(words, "judgekit")
        # Not its `main`, which would answer Ctrl-C and a reader that went away itself.
        with command.make_context("judgekit", words) as context:
            return context.command.invoke(context) or DONE
    except typer.Exit as done:
        return done.exit_code
    except BrokenPipeError:
        silence_stdout()
        return 141  # as a shell says that SIGPIPE ended it
    except (Exception, KeyboardInterrupt) as error:
        code, said = ending(error)
    tell(f"{'' if code == INTERRUPTED else 'error: '}{' '.join(said.split())}")
    return code
