"""Preferences between verdicts at the price of one pass over a prompt."""

from typing import Any

import torch


def run_once(decoder: Any, frozen: int = 0) -> None:
    """Let a decoder run once what the rows of a DPO batch share; all that it returns stays what it was.

    The batch holds the chosen rows and then the rejected ones, alike but for their last token, which nothing follows:
    the states before it, which are all that is scored, are the same. ``frozen``: so many blocks from below are not
    trained, and what they make of a batch serves the pass of the reference too, which follows the policy's.
    """
    kept: dict[str, Any] = {"ids": None, "again": False}

    def halve(_: Any, args: Any, given: dict[str, Any]) -> Any:
        half = len(given["input_ids"]) // 2
        given = {name: value[:half] if torch.is_tensor(value) else value for name, value in given.items()}
        ids = given["input_ids"]
        kept["again"] = frozen > 0 and kept["ids"] is not None and torch.equal(kept["ids"], ids)
        kept["ids"] = None if kept["again"] else ids
        return args, given

    def double(_: Any, args: Any, output: Any) -> Any:
        output.last_hidden_state = torch.cat([output.last_hidden_state] * 2)
        return output

    def reuse(block: Any) -> None:
        run = block.forward

        def forward(states: torch.Tensor, *args: Any, **given: Any) -> Any:
            if not kept["again"]:
                kept["states"] = run(states, *args, **given)
            return kept["states"]

        block.forward = forward

    for block in decoder.layers[:frozen] if frozen else ():
        reuse(block)
    decoder.register_forward_pre_hook(halve, with_kwargs=True)
    decoder.register_forward_hook(double)
