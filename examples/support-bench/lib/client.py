"""A client for one OpenAI-compatible chat route, with the manners a provider expects."""
import http.client
import json
import time
from urllib.parse import urlsplit

THROTTLE_RETRIES = 2   # times a 429 is waited out before it is reported
MAX_WAIT = 10          # seconds a Retry-After is believed


class ProviderError(Exception):
    """The provider did not answer: over its limit, broken, or not reachable."""

    waited = 0.0  # seconds spent waiting for the rate limit before giving up


class Client:
    """Calls POST {base}/v1/chat/completions; keeps no state and may be used by many threads."""

    def __init__(self, base, token, timeout=20):
        parts = urlsplit(base)
        self.host, self.path = parts.netloc, parts.path.rstrip("/") + "/v1/chat/completions"
        self.secure = parts.scheme == "https"
        self.token, self.timeout = token, timeout

    def chat(self, request):
        """The answer as a dict, and the seconds spent waiting for the provider's rate limit."""
        waited = 0.0
        for attempt in range(THROTTLE_RETRIES + 1):
            status, headers, body = self._post(json.dumps(request).encode())
            if status == 200:
                return json.loads(body), waited
            if status != 429 or attempt == THROTTLE_RETRIES:
                break
            pause = _pause(headers.get("Retry-After"))
            time.sleep(pause)
            waited += pause
        error = ProviderError(f"HTTP {status}: {_message(body)}")
        error.waited = waited
        raise error

    def _post(self, body):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        connection = kind(self.host, timeout=self.timeout)
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + self.token}
        try:
            connection.request("POST", self.path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        except (OSError, http.client.HTTPException) as e:
            raise ProviderError(f"no answer from the gateway: {e}") from e
        finally:
            connection.close()


def _pause(retry_after):
    """Seconds to wait; a date or nonsense in the header counts as one second."""
    try:
        return max(0.0, min(float(retry_after), MAX_WAIT))
    except (TypeError, ValueError):
        return 1.0


def _message(body):
    try:
        return json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return body[:200].decode("utf-8", "replace")
