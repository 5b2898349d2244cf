"""Families: every author and every judge of the loaded sets has exactly one, and nobody is guessed."""

import pytest

from judgekit.bias.family import NO_FAMILY, family_of, family_patterns, same_family
from judgekit.data.benchmarks import BENCHMARKS, UNLABELLED
from judgekit.data.benchmarks.outputs import PUBLISHED
from judgekit.data.catalogue import load_answer_set, load_set
from judgekit.data.corpora import ANSWERS, CORPORA
from judgekit.data.paths import data_mirror
from judgekit.data.sample import ASSISTANTS

needs_data = pytest.mark.skipif(data_mirror() is None, reason="no mirror: the authors of the real sets are not checked")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4", "openai"),
        ("gpt35_turbo_instruct", "openai"),
        ("text_davinci_003", "openai"),
        ("replay/gpt-4o-mini-repro", "openai"),
        ("weighted_alpaca_eval_gpt4_turbo", "openai"),
        ("cerebras-gpt-6.7B", "cerebras"),
        ("claude-v1", "anthropic"),
        ("claude-3-5-sonnet-20240620", "anthropic"),
        ("claude2-alpaca-13b", "llama"),
        ("vicuna-13b:20230322-clean-lang", "llama"),
        ("Llama-3.1-8B-Instruct", "llama"),
        ("llama7B_freelb_lr5e-5_AdvLr0_InitAdvMax10_AdvStep1_Projl2_MaxNorm0_yuxinRun", "llama"),
        ("replay/pandalm-7b", "llama"),
        ("replay/skywork-llama-3.1-8b", "llama"),
        ("replay/skywork-gemma-2-27b", "gemma"),
        ("replay/gemma-4-12b-repro", "gemma"),
        ("gemini-pro", "google"),
        ("EEVE-Korean-Instruct-10.8B", "mistral"),
        ("replay/judgelrm-3b", "qwen"),
        ("replay/qwen2.5-32b-repro", "qwen"),
        ("EXAONE-3.5-7.8B-Instruct", "exaone"),
        ("Ein-70B-v0.1", "other"),
        ("baseline/longer", "none"),
    ],
)
def test_names_that_are_easily_mistaken(name, family):
    assert family_of(name) == family


def test_the_unknown_is_an_error_and_not_a_guess():
    with pytest.raises(KeyError, match=r"'newcomer-7b'.*families\.yaml"):
        family_of("newcomer-7b")


def test_nobody_is_akin_to_what_has_no_family():
    assert same_family("llama", "llama") and not same_family("llama", "opt")
    assert not any(same_family(family, family) for family in NO_FAMILY)


def test_every_pattern_has_a_reason():
    assert all(len(reason.split()) > 1 for _, _, reason in family_patterns())


def test_every_judge_with_stored_verdicts_and_every_simulated_writer_has_a_family():
    assert {family_of(name) for name in PUBLISHED} <= {"openai", "llama", "gemma", "qwen", "internlm", "exaone"} | {
        "mistral",
        "google",
        "falcon",
    }
    assert len({family_of(one.name) for one in ASSISTANTS}) == len(ASSISTANTS)


@needs_data
@pytest.mark.realdata
def test_every_author_of_the_loaded_sets_has_a_family():
    sets = [load_set(name) for name in [*BENCHMARKS, *UNLABELLED]] + [load_set(name) for name in CORPORA]
    authors = {author for pairs in sets for pair in pairs for author in (pair.model_a, pair.model_b)}
    authors |= {response.model for name in ANSWERS for response in load_answer_set(name)}
    authors |= {pair.subset for pair in load_set("alpaca_eval")}
    assert len(authors - {None}) > 90
    families = {author: family_of(author) for author in authors - {None}}
    used = set(families.values())
    assert {"openai", "anthropic", "google", "llama", "mistral", "qwen", "gemma", "exaone", "phi"} <= used
    assert sum(family == "other" for family in families.values()) <= 8
