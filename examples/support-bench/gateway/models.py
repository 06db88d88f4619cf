"""The models behind the gateway: small statistical text models, all of them really computed.

A model reads the prompt, scores every sentence of its context against the ticket, draws sentences
from a softmax at the asked temperature, and draws one of the offered actions in the same way.
They differ only in how they score, as larger and smaller models differ in what they understand:

    tern-large   query likelihood under a translation model (IBM Model 1) that was trained on
                 corpus.tsv, so that "smashed" finds "damaged"; sees passage titles; avoids repetition
    tern-small   cosine of stemmed words weighted by their rarity; sees passage titles
    wren-mini    cosine of plain character trigrams; sees the bare sentences only

Training happens when the process starts, from corpus.tsv alone. The models hold no fact about
any benchmark: what they say comes from the prompt. Without context they continue a bigram chain.
"""
import math
import random
from collections import Counter, defaultdict

import prompt as prompts
import text

HINT_WEIGHT = 0.3    # a word of the hints counts this much of a word of the ticket
SHARPNESS = 2.2      # logits per standard deviation of the scores, the same for every model


class Corpus:
    """What all models share: pairs of question and reply, word rarity, and a bigram chain."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as lines:
            self.pairs = [tuple(line.rstrip("\n").split("\t")) for line in lines if "\t" in line]
        frequency = Counter()
        self.chain = defaultdict(list)
        for pair in self.pairs:
            for side in pair:
                frequency.update(set(text.stems(side)))
            reply = ["<s>", *pair[1].split(), "</s>"]
            for left, right in zip(reply, reply[1:]):
                self.chain[left].append(right)
        self.documents = 2 * len(self.pairs)
        self.frequency = frequency

    def idf(self, word):
        return math.log(1 + self.documents / (1 + self.frequency[word]))


class Model:
    """A scorer of sentences, and the sampling that all models share."""

    uses_titles = True
    novelty = 0.0  # how strongly a sentence close to one already said is pushed down

    def __init__(self, corpus):
        self.corpus = corpus

    def score(self, query, candidate):
        """How well a candidate text answers the query (a Counter of features)."""
        raise NotImplementedError

    def features(self, string):
        return Counter(text.stems(string))

    def query(self, string, hints):
        counts = Counter(self.features(string))
        for word, n in self.features(hints).items():
            counts[word] += HINT_WEIGHT * n
        return counts

    def complete(self, messages, temperature, rng):
        """The answer to a list of chat messages, as text."""
        prompt = prompts.parse(messages)
        if not prompt.passages:
            return self._ramble(rng)
        said = self._sentences(prompt, temperature, rng)
        lines = [" ".join(said)]
        if prompt.actions:
            lines.append("Action: " + self._action(prompt, said, temperature, rng))
        return "\n".join(lines)

    def _sentences(self, prompt, temperature, rng):
        query = self.query(prompt.ticket, prompt.hints)
        pool = [(s, f"{t}. {s}" if self.uses_titles and t else s) for t, s in prompt.passages]
        scores = standardize([self.score(query, seen) for _, seen in pool])
        said = []
        while pool and len(said) < prompt.max_sentences:
            i = draw(scores, temperature, rng)
            sentence, _ = pool.pop(i)
            scores.pop(i)
            said.append(sentence)
            if self.novelty:
                near = self.features(sentence)
                scores = [s - self.novelty * overlap(near, self.features(o)) for s, (o, _) in zip(scores, pool)]
        return said

    def _action(self, prompt, said, temperature, rng):
        query = self.query(prompt.ticket, " ".join(said))
        scores = standardize([self.score(query, f"{n}: {d}") for n, d in prompt.actions])
        return prompt.actions[draw(scores, temperature, rng)][0]

    def _ramble(self, rng):
        out, word = [], "<s>"
        while len(out) < 40:
            word = rng.choice(self.corpus.chain[word])
            if word == "</s>":
                break
            out.append(word)
        return " ".join(out)


class Translating(Model):
    """Query likelihood with P(question word | reply word) learned by IBM Model 1."""

    novelty = 1.0

    def __init__(self, corpus, rounds=6):
        super().__init__(corpus)
        self.table = self._train(rounds)

    def _train(self, rounds):
        pairs = [(text.stems(q), text.stems(r) + ("<null>",)) for q, r in self.corpus.pairs]
        table = defaultdict(lambda: 1.0)  # (question word, reply word) → probability, uniform at first
        for _ in range(rounds):
            counts, totals = Counter(), Counter()
            for question, reply in pairs:
                for q in question:
                    norm = sum(table[q, r] for r in reply)
                    for r in reply:
                        share = table[q, r] / norm
                        counts[q, r] += share
                        totals[r] += share
            table = {key: n / totals[key[1]] for key, n in counts.items()}
            table = defaultdict(float, table)
        return dict(table)

    def score(self, query, candidate):
        said = text.stems(candidate)
        if not said:
            return 0.0
        total = 0.0
        for q, weight in query.items():
            near = sum(0.6 * (q == w) + 0.4 * self.table.get((q, w), 0.0) for w in said) / (len(said) + 4)
            floor = (1 + self.corpus.frequency[q]) / (40 * self.corpus.documents)
            total += weight * math.log1p(near / floor)
        return total


class Lexical(Model):
    """Cosine of stemmed words, weighted by rarity in the training corpus."""

    def score(self, query, candidate):
        return cosine(self._weigh(query), self._weigh(Counter(text.stems(candidate))))

    def _weigh(self, counts):
        return {w: n * self.corpus.idf(w) for w, n in counts.items()}


class Trigram(Model):
    """Cosine of raw character trigrams: no idea of words, rarity or titles."""

    uses_titles = False

    def features(self, string):
        return text.trigrams(string)

    def score(self, query, candidate):
        return cosine(query, text.trigrams(candidate))


def cosine(a, b):
    dot = sum(n * b.get(w, 0) for w, n in a.items())
    if not dot:
        return 0.0
    return dot / math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))


def overlap(a, b):
    return sum((a & b).values()) / max(1, min(sum(a.values()), sum(b.values())))


def standardize(scores):
    """Scores as logits: zero mean, SHARPNESS per standard deviation."""
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((s - mean) ** 2 for s in scores) / len(scores))
    return [SHARPNESS * (s - mean) / deviation if deviation else 0.0 for s in scores]


def draw(logits, temperature, rng):
    """An index drawn from the softmax of the logits; the best one at temperature 0."""
    top = max(logits)
    if temperature <= 0:
        return logits.index(top)
    weights = [math.exp((x - top) / temperature) for x in logits]
    return rng.choices(range(len(weights)), weights)[0]


def load(corpus_path):
    """Model name → trained model."""
    corpus = Corpus(corpus_path)
    return {"tern-large": Translating(corpus), "tern-small": Lexical(corpus), "wren-mini": Trigram(corpus)}


def generator(seed=None):
    """Random numbers for one answer: from the operating system unless the caller gave a seed."""
    return random.Random(seed) if seed is not None else random.SystemRandom()
