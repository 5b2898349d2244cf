"""What a step is made of: tokenised texts with their features, and the pairs drawn."""

from collections import defaultdict

import numpy as np

from judgekit.surface import pair_features, surface_features


class Texts:
    """Token ids and surface features of texts, computed once."""

    def __init__(self, encoder, recipe):
        self.encoder, self.recipe = encoder, recipe
        self.ids, self.surface, self.alike = {}, {}, {}

    def token_ids(self, kind, text):
        """Token ids of a question or a response."""
        if (kind, text) not in self.ids:
            limit = self.recipe.max_question_tokens if kind == "question" else self.recipe.max_response_tokens
            self.ids[kind, text] = self.encoder.token_ids(text, limit)
        return self.ids[kind, text]

    def features(self, question, response):
        """Surface features of a response to a question."""
        if (question, response) not in self.surface:
            self.surface[question, response] = surface_features(question, response).astype(np.float32)
        return self.surface[question, response]

    def likeness(self, question, first, second):
        """Symmetric features of two responses to a question."""
        if (question, first, second) not in self.alike:
            sides = self.features(question, first), self.features(question, second)
            self.alike[question, first, second] = pair_features(first, second, *sides).astype(np.float32)
        return self.alike[question, first, second]


class Sampler:
    """Draws training pairs: a source by its share, then a prompt, then a pair of that prompt.

    Parameters
    ----------
    pairs : list of PreferencePair
    shares : dict of str to float
        Share of the mixture of each source; sources of ``pairs`` that are not named are an error.
    """

    def __init__(self, pairs, shares):
        grouped = defaultdict(lambda: defaultdict(list))
        for pair in pairs:
            grouped[pair.benchmark][pair.cluster_id].append(pair)
        if unknown := sorted(set(grouped) - set(shares)):
            raise ValueError(f"no share of the mixture is given for {', '.join(unknown)}")
        self.names = sorted(name for name in grouped if shares[name] > 0)
        if not self.names:
            raise ValueError("no training pairs are left")
        self.groups = {name: [grouped[name][key] for key in sorted(grouped[name])] for name in self.names}
        total = sum(shares[name] for name in self.names)
        self.probability = [shares[name] / total for name in self.names]

    def draw(self, rng, n):
        """``n`` pairs, each shown in a random order."""
        drawn = []
        for name in rng.choice(self.names, size=n, p=self.probability):
            group = self.groups[name][rng.integers(len(self.groups[name]))]
            pair = group[rng.integers(len(group))]
            drawn.append(pair if rng.integers(2) else pair.swapped())
        return drawn
