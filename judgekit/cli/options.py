"""Options that several commands have."""

from typing import Annotated

import typer

Pairs = Annotated[
    str, typer.Argument(metavar="PAIRS", help="JSON lines or CSV (.csv), either may be .gz; or Parquet (.parquet).")
]
Out = Annotated[str, typer.Option(metavar="FILE", help="File that is written, JSON lines; - is standard output.")]
JudgeName = Annotated[str, typer.Option(metavar="NAME", help="provider/model, such as encoder/FOLDER or openai/MODEL.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Setting of the judge or model, e.g. max_cost=5; repeatable."),
]
Store = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Verdict store; by default JUDGEKIT_STORE, or one in this user's data folder."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask again, and replace what the store holds.")]
Resume = Annotated[bool, typer.Option(help="Keep every reply in the store, and ask for none that is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no notes; failures are still shown.")]
