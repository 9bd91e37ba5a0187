"""A chat-completions endpoint on the loopback interface that also misbehaves."""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.index_knowledge import IndexKnowledge
from medrcube.ontologies.relations import Relation, Relations
from medrcube.ontologies.terms import Term, Terms

MMS = "http://id.who.int/icd/release/11/x/mms/"
TERMS = (
    Term(
        label="grey",
        kind="disease",
        name="grey fever",
        icd11_code="1A01",
        icd11_match="exact",
        hpo_id="HP:9000011",
        hpo_match="exact",
    ),
    Term(label="red", kind="disease", name="red flush", icd11_code="1A02", icd11_match="exact"),
    Term(label="blue", kind="disease", name="blue chill", icd11_code="1A03", icd11_match="exact"),
    Term(label="pale", kind="disease", name="pale shiver", icd11_code="1A05", icd11_match="close"),
    Term(label="dawn", kind="disease", name="dawn pallor", icd11_code="1A06", icd11_match="exact"),
    Term(label="dim", kind="disease", name="overcast", icd11_code="1A05B", icd11_match="exact"),
    Term(label="spot", kind="finding", name="dark spot", hpo_id="HP:9000020", hpo_match="exact"),
    Term(label="idless", kind="disease", name="nameless ague"),
)
RELATIONS = (
    Relation(group="g", label_a="dawn", relation="implies", label_b="grey", reason="r"),
    Relation(group="g", label_a="dim", relation="overlaps", label_b="red", reason="r"),
    *(
        Relation(group="tints", label_a=a, relation="excludes", label_b=b, reason="r")
        for a, b in (("grey", "blue"), ("grey", "red"), ("red", "blue"))
    ),
)


@pytest.fixture
def rules(compiled, concept):
    """Rules of an invented world: a few terms, and an index that knows more than they say."""

    def icd(code, label, parent=None, **values):
        parents = (MMS + parent,) if parent else ()
        return concept(MMS + code, label, *parents, code=code, **values)

    index = compiled(
        icd11=[
            concept(MMS + "block", "Tinted conditions"),
            icd("1A0", "airway pyrexia", "block"),
            icd("1A01", "Ashen pyrexia", "1A0", also=("grey fever",)),
            icd("1A02", "red flush", "1A0"),
            icd("1A03", "blue chill", "1A0"),
            icd("1A05", "pale chill", "1A0"),
            icd("1A06", "dawn pallor", "1A01"),
            icd("1A07", "green rigor", "1A0", also=("verdant rigor",)),
            icd("1A08", "twin rigor", "1A0"),
            icd("1A09", "twin rigor", "1A0"),
            icd("1A0A", "every tint", "1A0"),
            icd("1A0B", "violet chill", "1A05B"),
            icd("1A05B", "overcast chill", "1A0"),
            icd("MD10", "hoarse croak", "block"),
        ],
        hpo=[
            concept("HP:0000001", "All"),
            concept("HP:0000118", "Phenotypic abnormality", "HP:0000001"),
            concept("HP:9000010", "Abnormal tint", "HP:0000118"),
            concept("HP:9000011", "Grey fever", "HP:9000010"),
            concept("HP:9000020", "dark spot", "HP:9000010"),
            concept("HP:9000021", "bright streak", "HP:9000010"),
            concept("HP:0012823", "Clinical modifier", "HP:0000001"),
            concept("HP:9000030", "sudden", "HP:0012823"),
        ],
        radlex=[concept("RID9", "left windpipe")],
    )
    terms = Terms(TERMS)
    return SafetyRules(
        terms=terms, relations=Relations(RELATIONS, terms), knowledge=IndexKnowledge(index)
    )


@dataclass(slots=True)
class Behaviour:
    """What the server does with one request.

    ``parts`` sends these bytes in place of the body, without a length, one after another with
    ``delay`` between them.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    parts: Any = None


class Endpoint:
    """Answers with ``behave(number of the request, its body)`` and remembers what was asked."""

    def __init__(self):
        self.behave = lambda _number, _body: self.names()
        self.requests = []
        self.headers = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # a body need not wait for the receipt of its headers

            def do_POST(self):
                outer.serve(self)

            def log_message(self, *_):
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def prompts(self):
        return [body["messages"][0]["content"] for body in self.requests]

    @staticmethod
    def behaviour(**values):
        return Behaviour(**values)

    @staticmethod
    def completion(text, *, reason="stop", **message):
        body = {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": "stub-1",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        return Behaviour(body=body)

    def names(self, *texts):
        return self.completion(json.dumps({"distractors": texts}))

    @staticmethod
    def problem(status, message, *, headers=None, **error):
        body = {"error": {"message": message, **error}}
        return Behaviour(status=status, headers=headers or {}, body=body)

    def serve(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self.headers.append(handler.headers)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            self._send(handler, self.behave(number, body))
        except OSError:
            handler.close_connection = True
        finally:
            with self._lock:
                self._in_flight -= 1

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @staticmethod
    def _send(handler, answer):
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        if answer.parts is not None:
            handler.end_headers()
            for part in answer.parts:
                handler.wfile.write(part)
                time.sleep(answer.delay)
            return
        time.sleep(answer.delay)
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())


@pytest.fixture
def endpoint():
    running = Endpoint()
    yield running
    running.close()
