"""The benches are scripts that nothing else runs: what they ask of a judge is there, and both sides do the same."""

import sys
from importlib import import_module

from judgekit.data.paths import PRETRAINED, project_root
from judgekit.data.sample import load_sample
from judgekit.judges import request_of
from judgekit.judges.encoder import EncoderJudge

sys.path.append(str(project_root() / "tests" / "bench"))


def test_a_plain_loop_gives_the_verdicts_of_the_judge_that_it_is_timed_beside():
    """Since c47cf0bb two names were private and neither bench could run."""
    encoder_speed, formats = (import_module(name) for name in ("encoder_speed", "formats"))
    judge = EncoderJudge(PRETRAINED / "minilm", bf16=False)
    requests = [request_of(pair, "ab") for pair in load_sample("sample_natural")[:12]]
    said = encoder_speed.plain_loop(judge, requests, judge.config["max_response_tokens"], batch=5)
    assert said == [reply.verdict for reply in judge.judge(requests)]
    shorter = formats.operations(judge, requests[:3])
    assert 0 < shorter < formats.operations(judge, requests)
