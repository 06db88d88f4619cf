"""Text helpers of the gateway: token counts, words, stems, character n-grams.

The tokenizer is deliberately simple and stable, so that token counts (and so costs) can be
recomputed by anyone: a run of letters or digits is cut into pieces of at most 6 characters,
every other visible character is one token, white space costs nothing.
"""
import functools
import re
from collections import Counter

TOKEN = re.compile(r"[^\W_]{1,6}|[^\w\s]|_")
_WORD = re.compile(r"[a-z0-9äöüß]+")
STOP = frozenset(
    "a an and are as at be been but by can do does for from had has have i if in is it its me my "
    "not of on or our so that the their there they this to was we what when will with you your "
    "am any just no please should still than then too up would how".split()
)


def tokens(text):
    """The billed tokens of a text, in order."""
    return TOKEN.findall(text)


def words(text):
    return _WORD.findall(text.lower())


def stem(word):
    """A light English stemmer: strips the commonest endings, never below three letters."""
    for ending in ("ations", "ation", "ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@functools.lru_cache(maxsize=8192)
def stems(text):
    """Stems of the content words of a text, as a tuple in order."""
    return tuple(stem(w) for w in words(text) if w not in STOP)


@functools.lru_cache(maxsize=8192)
def trigrams(text):
    """Counts of the character trigrams of a text, the signal of the smallest model."""
    line = " " + " ".join(words(text)) + " "
    return Counter(line[i : i + 3] for i in range(len(line) - 2))
