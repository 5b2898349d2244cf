"""Training items whose question is, or nearly is, a test question.

Test questions are read here to keep them out of training, and nowhere else before scoring.
"""

from collections.abc import Iterable

from judgekit.data.cleaning.filters import Item, Reason, Sifted, sift
from judgekit.data.cleaning.texts import GRAM, MIN_BLOCK, N_PERMUTATIONS, grams, minhash, similarity, variants

# Share of words in common from which two questions are nearly the same. Shingles miss a question of some twenty words
# of which two were changed, since each change breaks three shingles.
MIN_WORDS_SHARED = 0.8
CANDIDATE = 0.6  # where MinHash begins to look: below the limit, since the exact share decides


class QuestionIndex:
    """Questions, each after where it stands: answers whether another question is one of them or near one.

    ``min_jaccard``: estimated Jaccard similarity of 3-word shingles from which two questions are near duplicates.
    """

    def __init__(self, questions: Iterable[tuple[str, str]], min_jaccard: float = 0.7) -> None:
        from datasketch import MinHashLSH

        self.places: dict[str, str] = {}
        self.grams: set[str] = set()
        self.known: dict[tuple[str, float], Reason] = {}
        self.near = MinHashLSH(threshold=min_jaccard, num_perm=N_PERMUTATIONS)
        self.near_words = MinHashLSH(threshold=CANDIDATE, num_perm=N_PERMUTATIONS)
        for place, question in questions:
            for form in sorted(variants(question)):
                if form in self.places:
                    continue
                self.places[form] = place
                self.near.insert(form, minhash(form))
                self.near_words.insert(form, minhash(form, 1))
                if len(form.split()) >= GRAM:
                    self.grams |= grams(form, GRAM)

    def match(self, question: str, max_overlap: float = 0.3) -> Reason:
        """Reason and detail for one question, None when it is clean; each question is looked up once."""
        if (question, max_overlap) not in self.known:
            self.known[question, max_overlap] = self._find(question, max_overlap)
        return self.known[question, max_overlap]

    def _find(self, question: str, max_overlap: float) -> Reason:
        """The first that applies: the same text, a large share of n-grams in common, a near duplicate."""
        forms = sorted(variants(question))
        for form in forms:
            if form in self.places:
                return "test question", self.places[form]
        for form in forms:
            if len(form.split()) >= GRAM:
                own = grams(form, GRAM)
                overlap = len(own & self.grams) / len(own)
                if overlap > max_overlap:
                    return "test n-grams", f"{overlap:.2f} of its {GRAM}-grams"
        for form in forms:
            if hits := [*self.near.query(minhash(form)), *self._find_by_words(form)]:
                return "near a test question", self.places[min(hits)]
        return None

    def _find_by_words(self, form: str) -> list[str]:
        """Questions that share nearly all words with this one, if it is long enough for that to mean anything."""
        if len(form.split()) < MIN_BLOCK:
            return []
        hits = self.near_words.query(minhash(form, 1))
        return [hit for hit in hits if similarity(form, hit, 1) >= MIN_WORDS_SHARED]


Questions = Iterable[tuple[str, str]] | QuestionIndex  # where a question stands, and its text


def drop_contaminated(
    items: Iterable[Item], test_questions: Questions, max_overlap: float = 0.3, min_jaccard: float = 0.7
) -> Sifted:
    """Drop training items of which a question, in whatever turn, is or nearly is a test question.

    ``max_overlap``: largest share in [0, 1] of a question's 8-grams that may occur in test questions. A `QuestionIndex`
    saves making it anew for each corpus, and has its own ``min_jaccard``.
    """
    index = test_questions if isinstance(test_questions, QuestionIndex) else QuestionIndex(test_questions, min_jaccard)

    def contaminated(item: Item) -> Reason:
        asked = (item.question, *(turn.question for turn in item.turns))
        return next((found for found in (index.match(question, max_overlap) for question in asked) if found), None)

    return sift(items, contaminated)
