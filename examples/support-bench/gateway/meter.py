"""What a provider does around a model: rate limit, prefix cache, bill."""
import hashlib
import threading
import time
from collections import OrderedDict, deque
from contextlib import contextmanager

import text

BLOCK = 64            # tokens per block of the prefix cache
CACHED_BLOCKS = 8192  # blocks kept per model, the least recently used leave first


class TooMany(Exception):
    """The caller is over its rate; retry_after says for how many seconds to stay away."""

    def __init__(self, message, retry_after):
        super().__init__(message)
        self.retry_after = retry_after


class RateLimit:
    """At most so many requests of one model at once and within any second."""

    def __init__(self, at_once, per_second):
        self.at_once, self.per_second = at_once, per_second
        self.running, self.recent = 0, deque()
        self.lock = threading.Lock()

    @contextmanager
    def admit(self):
        with self.lock:
            now = time.monotonic()
            while self.recent and now - self.recent[0] >= 1:
                self.recent.popleft()
            if self.running >= self.at_once:
                raise TooMany(f"more than {self.at_once} requests at once", 1)
            if len(self.recent) >= self.per_second:
                raise TooMany(f"more than {self.per_second} requests per second", 1)
            self.recent.append(now)
            self.running += 1
        try:
            yield
        finally:
            with self.lock:
                self.running -= 1


class PrefixCache:
    """Remembers prompt prefixes in whole blocks, as serving engines do."""

    def __init__(self):
        self.blocks = OrderedDict()
        self.lock = threading.Lock()

    def hit(self, prompt_tokens):
        """How many leading tokens were seen before; the whole prompt is remembered."""
        chain, known, cached = hashlib.sha256(), True, 0
        with self.lock:
            for start in range(0, len(prompt_tokens) - BLOCK + 1, BLOCK):
                chain.update("\x00".join(prompt_tokens[start : start + BLOCK]).encode("utf-8", "surrogatepass"))
                key = chain.digest()
                known = known and key in self.blocks
                cached += BLOCK if known else 0
                self.blocks[key] = True
                self.blocks.move_to_end(key)
            while len(self.blocks) > CACHED_BLOCKS:
                self.blocks.popitem(last=False)
        return cached


def prompt_tokens(messages):
    """The tokens of a prompt: per message its role, its text and one separator."""
    out = []
    for message in messages:
        out.append(message["role"])
        out.extend(text.tokens(message["content"]))
        out.append("\n")
    return out


def bill(price, fresh, cached, completion):
    """USD for one answer; price is in USD per million tokens."""
    total = fresh * price["input"] + cached * price["cache_read"] + completion * price["output"]
    return round(total / 1e6, 10)
