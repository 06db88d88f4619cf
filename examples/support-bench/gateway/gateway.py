"""A small local model gateway with an OpenAI-compatible chat route.

    GATEWAY_TOKEN=... python3 gateway/gateway.py --port 0 --address-file FILE

Routes: POST /v1/chat/completions, GET /v1/models. Every call needs `Authorization: Bearer TOKEN`.
The base address is written to FILE (or to stdout) once the models are trained. The process ends when
its stdin, if it is a pipe, is closed, and when its parent process dies, so that it never outlives
whoever started it.

It behaves like a provider: it limits its rate per model (429 with Retry-After), answers no faster
than the speeds in catalog.json, bills tokens, caches prompt prefixes, and a small part of the calls
is lost to a worker (503).
"""
import argparse
import hmac
import json
import os
import secrets
import stat
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
import meter   # noqa: E402  (local modules, after the line above on purpose)
import models  # noqa: E402
import text    # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_BODY = 4 << 20  # bytes


class Refused(Exception):
    """An error answer: HTTP status, type and message in OpenAI's shape."""

    def __init__(self, status, kind, message, headers=()):
        super().__init__(message)
        self.status, self.kind, self.headers = status, kind, dict(headers)


class Gateway:
    """Models, limits and prices behind the HTTP routes."""

    def __init__(self, token, at_once, per_second, fault_rate):
        with open(os.path.join(HERE, "catalog.json"), encoding="utf-8") as f:
            self.catalog = json.load(f)
        self.models = models.load(os.path.join(HERE, "corpus.tsv"))
        self.token, self.fault_rate = token, fault_rate
        self.limits = {name: meter.RateLimit(at_once, per_second) for name in self.models}
        self.caches = {name: meter.PrefixCache() for name in self.models}
        self.chance = models.generator()

    def check_token(self, header):
        if not hmac.compare_digest(header.encode(), b"Bearer " + self.token.encode()):
            raise Refused(401, "authentication_error", "missing or wrong bearer token")

    def list_models(self):
        data = [{"id": n, "object": "model", "owned_by": "local", "loaded": e["loaded"]} for n, e in self.catalog.items()]
        return {"object": "list", "data": data}

    def chat(self, request):
        name, messages, temperature, max_tokens, seed = check_request(request)
        entry = self.catalog.get(name)
        if entry is None:
            raise Refused(404, "model_not_found", f"model '{name}' does not exist")
        if not entry["loaded"]:
            raise Refused(503, "model_not_loaded", f"model '{name}' is not loaded")
        try:
            with self.limits[name].admit():
                return self._answer(name, entry, messages, temperature, max_tokens, seed)
        except meter.TooMany as e:
            raise Refused(429, "rate_limit_exceeded", str(e), {"Retry-After": str(e.retry_after)}) from e

    def _answer(self, name, entry, messages, temperature, max_tokens, seed):
        begin = time.monotonic()
        if self.chance.random() < self.fault_rate:
            raise Refused(503, "overloaded_error", "the worker that held this request was restarted")
        prompt = meter.prompt_tokens(messages)
        cached = self.caches[name].hit(prompt)
        content = self.models[name].complete(messages, temperature, models.generator(seed))
        content, used, finish = cut(content, max_tokens)
        fresh = len(prompt) - cached
        pace = fresh / entry["prefill_tokens_per_s"] + used / entry["decode_tokens_per_s"]
        time.sleep(max(0.0, pace - (time.monotonic() - begin)))
        return {
            "id": "chatcmpl-" + secrets.token_hex(12),
            "object": "chat.completion",
            "created": int(time.time()),
            "model": name,
            "provider": "local-gateway",
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}],
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": used,
                "total_tokens": len(prompt) + used,
                "prompt_tokens_details": {"cached_tokens": cached},
                "cost": meter.bill(entry["usd_per_million"], fresh, cached, used),
            },
        }


def check_request(request):
    """The fields of a chat request that the gateway understands, or Refused."""

    def need(ok, message):
        if not ok:
            raise Refused(400, "invalid_request_error", message)

    need(isinstance(request, dict), "the body must be a JSON object")
    name, messages = request.get("model"), request.get("messages")
    need(isinstance(name, str) and name, "model must be a string")
    need(isinstance(messages, list) and messages, "messages must be a list with at least one message")
    for m in messages:
        need(isinstance(m, dict) and m.get("role") in ("system", "user", "assistant"), "unknown role in messages")
        need(isinstance(m.get("content"), str), "message content must be a string")
    temperature = request.get("temperature", 1.0)
    need(_number(temperature) and 0 <= temperature <= 2, "temperature must be between 0 and 2")
    max_tokens = request.get("max_tokens", 256)
    need(_number(max_tokens) and max_tokens >= 1 and max_tokens % 1 == 0, "max_tokens must be a whole number from 1")
    seed = request.get("seed")
    need(seed is None or isinstance(seed, int), "seed must be a whole number")
    need(request.get("n", 1) == 1, "n must be 1")
    need(not request.get("stream"), "stream is not supported")
    return name.removeprefix("local/"), messages, temperature, int(max_tokens), seed


def _number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def cut(content, max_tokens):
    """The text cut to max_tokens, its number of tokens, and the finish reason."""
    ends = [m.end() for m in text.TOKEN.finditer(content)]
    if len(ends) <= max_tokens:
        return content, len(ends), "stop"
    return content[: ends[max_tokens - 1]], max_tokens, "length"


class Handler(BaseHTTPRequestHandler):
    """HTTP in front of a Gateway, which hangs on the server object."""

    server_version = "local-gateway/1"
    timeout = 30

    def do_GET(self):
        self._serve({"/v1/models": lambda: self.server.gateway.list_models()})

    def do_POST(self):
        self._serve({"/v1/chat/completions": lambda: self.server.gateway.chat(self._body())})

    def _serve(self, routes):
        try:
            self.server.gateway.check_token(self.headers.get("Authorization", ""))
            if self.path not in routes:
                raise Refused(404, "not_found", f"no route {self.command} {self.path}")
            self._send(200, routes[self.path]())
        except Refused as e:
            self._send(e.status, {"error": {"message": str(e), "type": e.kind}}, e.headers)
        except ConnectionError:
            self.close_connection = True  # the caller went away

    def _body(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            raise Refused(413, "invalid_request_error", f"a body of at most {MAX_BODY} bytes with Content-Length is needed")
        try:
            return json.loads(self.rfile.read(int(length)))
        except ValueError as e:
            raise Refused(400, "invalid_request_error", f"the body is not JSON: {e}") from e

    def _send(self, status, value, headers=()):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, header in dict(headers).items():
            self.send_header(name, header)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass  # the runner keeps transcripts; a line per request would only be noise


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def end_with_caller():
    """Ends this process when stdin, if it is a pipe, closes, or when the parent dies."""
    parent = os.getppid()

    def watch_stdin():
        while os.read(0, 4096):
            pass
        os._exit(0)

    def watch_parent():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(0)

    try:
        mode = os.fstat(0).st_mode
        piped = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    except OSError:  # started with stdin closed
        piped = False
    for watch in [watch_parent] + [watch_stdin] * piped:
        threading.Thread(target=watch, daemon=True).start()


def announce(address, path):
    """Tells the address: to the file, whole or not at all, or to stdout."""
    if path is None:
        print(address, flush=True)
        return
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as f:
        f.write(address + "\n")
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser(description="Local OpenAI-compatible gateway; the token is read from GATEWAY_TOKEN.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1, 0 for a free one")
    parser.add_argument("--address-file", help="where to write the base address when ready")
    parser.add_argument("--at-once", type=int, default=8, help="requests of one model at the same time")
    parser.add_argument("--per-second", type=int, default=60, help="requests of one model within any second")
    parser.add_argument("--fault-rate", type=float, default=0.006, help="share of calls lost to a worker, 0 to 1")
    args = parser.parse_args()
    token = os.environ.get("GATEWAY_TOKEN", "")
    if len(token) < 8:
        sys.exit("gateway: set GATEWAY_TOKEN to a secret of at least 8 characters")
    end_with_caller()
    server = Server(("127.0.0.1", args.port), Handler)
    server.gateway = Gateway(token, args.at_once, args.per_second, args.fault_rate)
    announce(f"http://127.0.0.1:{server.server_address[1]}", args.address_file)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
