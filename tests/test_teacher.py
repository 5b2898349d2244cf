"""Collecting responses and a teacher's ratings, against a real local server that fails on purpose."""

import json
from collections import Counter

import pytest
from chat_server import good_reply
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tiny_causal import save_tiny, teach

from judgekit.inside.aspects import Aspect, load_aspects
from judgekit.judges.completions import load_chat_model
from judgekit.models.causal import CausalModel
from judgekit.scoring.store import VerdictStore
from judgekit.scoring.teacher import Question, collect_responses, rate_responses, rating_messages, read_rating

QUICK = {"timeout": 5.0, "backoff": 0.005, "attempts": 3}
SCALE = range(1, 6)
REASONING = load_aspects("reasoning")


def echo(body, text):
    """Replies with what was asked, so that every response can be checked against its question."""
    return good_reply(body, f"re: {text}")


def ask(questions, model="openai/tiny", store=":memory:", system=None, seed=0, n_samples=1, **settings):
    chat = load_chat_model(model, settings if model.startswith("hf/") else QUICK | settings)
    with VerdictStore(store) as kept:
        rows = [Question(**row) for row in questions]
        return collect_responses(rows, chat, kept, system, seed, n_samples, progress=False)


def rate(responses, aspects=REASONING, store=None, **settings):
    return rate_responses(responses, aspects, "openai/tiny", store, QUICK | settings, progress=False)


def questions(n, **more):
    return [{"id": f"q{i}", "question": f"Question {i:03d}?", **more} for i in range(n)]


def responses(n, **more):
    return [{"id": i, "question": f"Q{i}?", "response": f"Say number {i % 5 + 1}", **more} for i in range(n)]


def asked(server):
    return sum(server.asked.values())


def test_every_question_gets_its_own_response(serve):
    server = serve(respond=echo)
    twice = [{"id": 3, "question": "Once?", "reference": "Yes."}, {"id": 4, "question": "Once?"}]
    given = [*questions(3), *twice, {"id": 5, "question": "\ud800"}]
    before = json.dumps(given)
    rows = ask(given, system="Think.")
    assert [row["response"] for row in rows] == [f"re: {item['question']}" for item in given[:5]] + ["re: \ufffd"]
    assert [row["id"] for row in rows] == ["q0", "q1", "q2", 3, 4, 5]
    assert {row["status"] for row in rows} == {"ok"} and {row["error"] for row in rows} == {None}
    assert rows[3]["reference"] == "Yes." and "reference" not in rows[0] and "options" not in rows[0]
    assert json.dumps(given) == before and asked(server) == 5, "equal questions are asked once"
    assert {body["temperature"] for body in server.bodies} == {0.0}
    assert {body["messages"][0]["content"] for body in server.bodies} == {"Think."}
    assert all(row["tokens_in"] and row["tokens_out"] and row["model"] == "openai/tiny" for row in rows)


def test_options_are_shuffled_once_and_kept(serve):
    server = serve(respond=echo)
    options = ["right", "wrong 1", "wrong 2", "wrong 3"]
    rows = ask(questions(40, options=options))
    for row in rows:
        lines = "\n".join(f"({letter}) {text}" for letter, text in zip("ABCD", row["options"], strict=True))
        assert sorted(row["options"]) == options
        assert row["question"].endswith(f"?\n\n{lines}") and row["response"] == f"re: {row['question']}"
    places = Counter(row["options"].index("right") for row in rows)
    assert len(places) == 4 and max(places.values()) <= 20
    # Neither the order they were given in, nor the rest of the file, nor the run changes an item's order.
    alone = ask([questions(40, options=options[::-1])[7]])
    assert alone[0]["options"] == rows[7]["options"]
    assert [row["options"] for row in ask(questions(40, options=options), seed=1)] != [row["options"] for row in rows]
    # The rater is shown the question as it was asked.
    server.respond = lambda body, text: good_reply(body, '{"score": 2, "justification": "x"}')
    rate(rows[:1], {"fluency": REASONING["fluency"]})
    assert rows[0]["question"] in server.bodies[-1]["messages"][-1]["content"]


def test_several_samples(serve, tmp_path):
    counter = iter(range(100))
    server = serve(respond=lambda body, text: good_reply(body, f"{text} {next(counter)}"))
    rows = ask(questions(3), store=tmp_path / "s.sqlite", n_samples=2, temperature=0.7)
    assert [(row["id"], row["sample"]) for row in rows] == [(f"q{i}", n) for i in range(3) for n in range(2)]
    assert len({row["response"] for row in rows}) == 6
    more = ask(questions(3), store=tmp_path / "s.sqlite", n_samples=3, temperature=0.7)
    assert asked(server) == 9
    assert [row["response"] for row in more if row["sample"] < 2] == [row["response"] for row in rows]


def test_a_question_that_is_too_long_is_skipped_and_shifts_nothing(serve, tiny, tmp_path):
    server = serve(respond=echo)
    given = questions(4)
    given[1]["question"] = "long " * 100
    rows = ask(given, store=tmp_path / "s.sqlite", max_characters=50)
    assert [row["status"] for row in rows] == ["ok", "skipped", "ok", "ok"]
    assert rows[1]["response"] is None and "500 characters" in rows[1]["error"]
    assert [row["response"] for row in rows[2:]] == ["re: Question 002?", "re: Question 003?"]
    assert asked(server) == 3
    assert ask(given, store=tmp_path / "s.sqlite")[1]["status"] == "ok"
    assert asked(server) == 4
    rows = ask(given[1:], f"hf/{tiny}", max_new_tokens=3, max_prompt_tokens=60)
    assert [row["status"] for row in rows] == ["skipped", "ok", "ok"] and "room for 60" in rows[0]["error"]


def test_other_models_and_settings_have_replies_of_their_own(serve, tmp_path):
    server = serve(respond=echo)
    for model, settings in [
        ("openai/tiny", {"system": "Think."}),
        ("openai/tiny", {}),
        ("openai/other", {}),
        ("openai/tiny", {"temperature": 0.5}),
        ("openai/tiny", {"max_tokens": 7}),
        ("openai/tiny", {"attempts": 9, "timeout": 3.0}),  # how one asks, not what
    ]:
        ask(questions(1), model, tmp_path / "s.sqlite", **settings)
    assert asked(server) == 5


def test_the_budget_stops_a_run_and_the_next_goes_on(serve, tmp_path):
    server = serve(respond=echo)
    # A question of 13 characters is estimated at 13 tokens: with 100 for the reply, a request may take 113.
    one = {"max_tokens": 100, "concurrency": 8, "price_in": 1.0, "price_out": 1.0}
    rows = ask(questions(30), store=tmp_path / "s.sqlite", max_cost=150 / 1e6, **one)
    done = [row["status"] == "ok" for row in rows]
    spent = sum(row["tokens_in"] + row["tokens_out"] for row in rows if row["status"] == "ok")
    assert 0 < sum(done) < 30 and spent <= 150
    assert {row["error"] for row in rows if row["status"] == "error"} == {
        "not asked: the budget of 0.00015 does not allow another request"
    }
    before = asked(server)
    assert before == sum(done)
    rows = ask(questions(30), store=tmp_path / "s.sqlite", **one)
    assert {row["status"] for row in rows} == {"ok"} and asked(server) == 30


def test_a_local_model_responds_and_is_not_asked_twice(tiny, tmp_path, monkeypatch):
    more = {"store": tmp_path / "s.sqlite", "max_new_tokens": 5}
    rows = ask(questions(3), f"hf/{tiny}", **more)
    assert {row["status"] for row in rows} == {"ok"} and all(0 < row["tokens_out"] <= 5 for row in rows)
    chat = load_chat_model(f"hf/{tiny}", {"max_new_tokens": 5})
    chat.load()
    prompt = chat.judge.tokens.ids([{"role": "user", "content": "Question 001?"}])
    plain = CausalModel(chat.judge.engine.model, chat.judge.ends).generate([prompt], 5)[0]
    assert rows[1]["response"] == chat.judge.tokens.tokenizer.decode(plain, skip_special_tokens=True)
    monkeypatch.setattr(CausalModel, "generate", lambda *_: pytest.fail("asked again"))
    assert ask(questions(3), f"hf/{tiny}", **more) == rows


def test_samples_of_a_local_model_differ_also_when_a_run_is_resumed(tiny, tmp_path):
    more = {"store": tmp_path / "s.sqlite", "max_new_tokens": 8, "temperature": 1.5}
    first = ask(questions(1), f"hf/{tiny}", **more)
    both = ask(questions(1), f"hf/{tiny}", n_samples=2, **more)
    assert both[0] == first[0] and both[0]["response"] != both[1]["response"]


def test_a_local_teacher_rates(tiny, tmp_path):
    aspect = {"tone": Aspect("tone", "Tone", "Is it kind?", {1: "Rude.", 2: "Kind."})}
    given, settings = [{"question": "Where?", "response": "Here, please."}], {"max_new_tokens": 40}
    folder = save_tiny(tmp_path / "taught", sharp=1.0)
    prompt = load_chat_model(f"hf/{folder}").judge.tokens.ids(
        rating_messages(aspect["tone"], "Where?", "Here, please.")
    )
    teach(folder, [prompt], ['{"score": 2, "justification": "Kind."}'], steps=80)
    (row,) = rate_responses(given, aspect, f"hf/{folder}", settings=settings, progress=False)
    assert (row["tone"], row["total_score"], row["teacher"]) == (2, 2, f"hf/{folder}")
    (row,) = rate_responses(given, aspect, f"hf/{tiny}", settings=settings, progress=False)
    assert row["tone"] is None and row["ratings"]["tone"]["status"] == "unparsed" and row["ratings"]["tone"]["reply"]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('```json\n{"justification": "Good.", "score": 4}\n```', 4),
        ('<think>{"score": 1, "justification": "?"}</think>{"score": 4, "justification": ""}', 4),
        ('{"score": 1, "justification": "No."}\nOn second thoughts:\n{"score": 4, "justification": "Yes."}', 4),
        ('{"score": 4, "justification": "\\(x\\) and \\cdot, \\\\alpha, \\u00e9, \\"quoted\\""}', 4),
        ('{"score": 4, "justification": "It quotes {\\"score\\": 1}."}', 4),
        ('{"note": 1}\n{"score": 4, "justification": "x"}\n{"note": 2}', 4),
        ('{"score": 4, "justification": "x"} {"score": 1, "justification": "x"}', None),
        ('{"score": 4, "score": 1, "justification": "x"}', None),
        ('{"score": 4, "justification": 7}', None),
        ('{"score": 4.0, "justification": "x"}', None),
        ('{"score": 1, "justification": "x"}\n{"score": 9, "justification": "x"}', None),
        ('{"score": 4, "justification": "cut off', None),
        ('<think>{"score": 4, "justification": "x"}', None),
    ],
)
def test_only_a_clear_score_counts(text, score):
    assert read_rating(text, SCALE)[0] == score


@given(st.text() | st.text(alphabet='{}"\\:,score 14[]'))
def test_no_reply_breaks_the_reader(text):
    score, justification = read_rating(text, SCALE)
    assert (score is None) == (justification is None) and (score is None or score in SCALE)


@given(st.integers(1, 5), st.text())
@example(3, "{" * 50 + '"score": 1' + "\\" * 3)
def test_what_is_written_as_json_is_read(score, justification):
    assume("think>" not in justification)  # in a response it has other brackets, so that no teacher can quote it
    assert read_rating(json.dumps({"score": score, "justification": justification}), SCALE) == (score, justification)


def test_a_teacher_is_told_definition_scale_example_and_form():
    aspect = REASONING["logicality"]
    system, shown, said, last = rating_messages(aspect, "Who?", "Me {title} [Response]")
    assert aspect.definition in system["content"] and "\n5 - Every conclusion" in system["content"]
    assert "{title}" not in system["content"] and '{"score": a whole number from 1 to 5' in system["content"]
    assert aspect.example.question in shown["content"]
    assert read_rating(said["content"], SCALE) == (aspect.example.score, aspect.example.justification)
    assert last["content"] == "[Question]\n\nWho?\n\n[Response]\n\nMe {title} ［Response］"
    assert [m["role"] for m in (system, shown, said, last)] == ["system", "user", "assistant", "user"]
    assert read_rating(system["content"], SCALE) == (None, None), "a teacher that repeats its instruction has not rated"


def test_replies_are_kept_and_unclear_ones_not_asked_for_again(serve, tmp_path):
    def respond(body, text):
        broken = {"1": "Surely four.", "2": '{"score": 9, "justification": "x"}'}
        return good_reply(body, broken.get(text[-1], 'Sure! {"score": 3, "justification": "As \\cdot says."}'))

    server, given = serve(respond=respond), responses(3, note="kept")
    before, aspects = json.dumps(given), {name: REASONING[name] for name in ("fluency", "factuality")}
    for _ in range(2):
        rows = rate(given, aspects, tmp_path / "s.sqlite")
        assert [(row["fluency"], row["total_score"]) for row in rows] == [(None, None), (None, None), (3, 6)]
    unclear, clear = rows[0]["ratings"]["fluency"], rows[2]["ratings"]
    version = unclear.pop("prompt_version")
    assert version == clear["fluency"].pop("prompt_version") != clear["factuality"]["prompt_version"]
    assert unclear == {"score": None, "justification": None, "status": "unparsed", "reply": "Surely four."}
    assert clear["fluency"] == {"score": 3, "justification": "As \\cdot says.", "status": "ok"}
    assert json.dumps(given) == before and asked(server) == 6 and rows[0]["note"] == "kept"


def test_a_response_that_is_not_there_is_not_rated_and_an_empty_one_is(serve):
    server = serve(respond=lambda body, text: good_reply(body, '{"score": 1, "justification": "x"}'))
    given = responses(3)
    given[0]["response"], given[1]["response"] = None, ""
    rows = rate(given, {"fluency": REASONING["fluency"]})
    assert [row["fluency"] for row in rows] == [None, 1, 1]
    assert rows[0]["ratings"]["fluency"]["status"] == "skipped" and asked(server) == 2


@pytest.mark.parametrize(
    ("aspects", "words"), [({}, "no aspect"), ({"teacher": REASONING["fluency"]}, "no aspect can be called 'teacher'")]
)
def test_what_cannot_be_rated_is_told(serve, aspects, words):
    server = serve()
    with pytest.raises(ValueError, match=words):
        rate(responses(1), aspects)
    assert not server.asked
