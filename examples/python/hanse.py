"""Drive a Hanse node from Python, over the socket in the node's folder.

    import hanse

    bank = hanse.Node("bank-node")
    bank.train(open("credit.toml").read())        # shows what the job opens, and asks
    scores = bank.predict("credit", table="test")

It needs Python 3.11 and nothing beside its standard library. Tables come as lists of dicts, one for each row, or as
DataFrames where pandas is installed. All but audit, and predictions with a model of this node's own, goes over the
socket; these two the node does not answer, and the hanse program is run for them.

A node takes commands of its own user and of root alone: run this as one of them, on the node's machine.
"""

import csv
import http.client
import io
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

try:
    import pandas
except ImportError:
    pandas = None

MAX_TEXT = 2000
"""The longest sentence of a node that is passed on, in characters."""

Yes = bool | Callable[[str], bool]
"""Whether to consent: True, or a function of the job's summary; False asks the person at the terminal."""


class Error(Exception):
    """What a node or the program refused or failed at, in its own words."""

    def __init__(self, text: str):
        line = " ".join(text.split())
        super().__init__("".join(c for c in line if c.isprintable())[:MAX_TEXT])


def show(event: Mapping[str, Any]) -> None:
    """Print what happens in a job to standard error, one line for each event that has words."""
    if event.get("text"):
        print(event["text"], file=sys.stderr)


def toml(job: Mapping[str, Any]) -> str:
    """Write a job as the text of a job file.

    >>> print(toml({"name": "credit", "parties": ["bank", "telco"], "parameters": {"label": "default"}}))
    name = "credit"
    parties = ["bank", "telco"]
    <BLANKLINE>
    [parameters]
    label = "default"
    <BLANKLINE>

    >>> import tomllib
    >>> job = {"a": 'say "yes"\\n\\t\\\\\\x7f', "b": [1.5, True], "c d": {"e": {"f": -1, "": "\U0001f6a2"}}, "g": 1e-6}
    >>> tomllib.loads(toml(job)) == job
    True
    """
    lines = [f"{_text(k)} = {_value(v)}\n" for k, v in job.items() if not isinstance(v, Mapping)]
    for name, section in job.items():
        if isinstance(section, Mapping):
            lines.append(f"\n[{_text(name)}]\n")
            lines += [f"{_text(k)} = {_value(v)}\n" for k, v in section.items()]
    return "".join(lines)


def _text(key: str) -> str:
    """Write a key, bare where it may be."""
    bare = key.isascii() and key.replace("-", "a").replace("_", "a").isalnum()
    return key if bare else _value(key)


def _value(v: Any) -> str:
    """Write a value."""
    match v:
        case bool():
            return str(v).lower()
        case int() | float():
            return repr(v)
        case str():
            return json.dumps(v, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{ " + ", ".join(f"{_text(k)} = {_value(w)}" for k, w in v.items()) + " }"
        case Iterable():
            return "[" + ", ".join(_value(w) for w in v) + "]"
    raise TypeError(f"{v!r} has no place in a job file: want text, a number, a truth value, or a list or dict of these")


def rows_of(text: str) -> list[dict[str, Any]]:
    """Read a scores file: ids and classes are texts, the rest numbers, and None what a row does not have.

    >>> rows_of("id,score,class,probability\\n7,0.5,1,0.75\\n8,no match,,\\n")[0]
    {'id': '7', 'score': 0.5, 'class': '1', 'probability': 0.75}
    >>> rows_of("id,score,class,probability\\n7,0.5,1,0.75\\n8,no match,,\\n")[1]
    {'id': '8', 'score': None, 'class': None, 'probability': None}
    """
    reader = csv.reader(io.StringIO(text))
    head = next(reader)
    texts = {head[0], "class"}
    return [{name: None if cell in ("", "no match") else cell if name in texts else float(cell)
             for name, cell in zip(head, row)} for row in reader]


def _table(text: str) -> Any:
    """Read a scores file as a table."""
    return rows_of(text) if pandas is None else pandas.DataFrame(rows_of(text))


class _Connection(http.client.HTTPConnection):
    """A connection to the node of a folder, which its owner or root must be running."""

    def __init__(self, folder: str, timeout: float | None):
        super().__init__("node", timeout=timeout)
        self.folder = folder

    def connect(self) -> None:
        owner, user = os.stat(self.folder).st_uid, os.geteuid()
        if owner != user and user != 0:
            raise Error(f"the folder {self.folder} belongs to user {owner}, and you are user {user}: a node takes "
                        "commands of its own user and of root; run this program as one of these")
        path = os.path.join(self.folder, "node.sock")
        if os.path.islink(path):  # of a folder whose path is too long for a socket
            path = os.readlink(path)
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(path)
        if hasattr(socket, "SO_PEERCRED"):  # elsewhere the folder's rights alone say who answers
            who = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            answers = struct.unpack("3i", who)[1]
            if answers not in (owner, 0):
                raise Error(f"user {answers} answers at {path}, where the node of user {owner} should: nothing was "
                            "sent; stop that program, and start the node again")


class Node:
    """A running node, by its folder.

    dir is what the node was started with as --dir, listen hears the events of this process's jobs, and program is the
    hanse program, for what the socket cannot do. Methods raise Error with the node's sentence. Each opens a connection
    of its own, so that threads may share a Node.

    A job is called by its name or the first digits of its contract.

    >>> Node("/nowhere").status()
    Traceback (most recent call last):
    hanse.Error: no node runs in /nowhere: start one with hanse node --dir /nowhere
    """

    def __init__(self, dir: str | os.PathLike[str], listen: Callable[[Mapping[str, Any]], None] = show,
                 program: str = "hanse"):
        self.dir = os.path.abspath(dir)
        self.listen = listen
        self.program = program

    # What the node knows.

    def ready(self, timeout: float = 60) -> None:
        """Wait until a node answers that has just been started. It is asked ten times a second."""
        end = time.monotonic() + timeout
        while True:
            try:
                self.status()
                return
            except Error:
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def status(self) -> dict[str, Any]:
        """Return the node as it is now: member, charter, members, jobs, alerts, disk and traffic."""
        return self._json("GET", "/status")

    def jobs(self) -> list[dict[str, Any]]:
        """Return the node's jobs, the newest first: name, contract, state, proposer, parties, summary and more."""
        return self._json("GET", "/jobs")

    def result(self, job: str) -> dict[str, Any]:
        """Return this node's report of a job that is done; of another the Error says how it stands."""
        return self._json("GET", "/report", {"job": job})

    def scores(self, job: str) -> Any:
        """Return the scores of a prediction that opened to this node, as a table."""
        return _table(self._ask("GET", "/scores", {"job": job}).decode())

    # What a person decides.

    def proposal(self, job: str, timeout: float = 60) -> dict[str, Any]:
        """Wait until a job waits for consent here, and return it as jobs() has it. It looks five times a second."""
        end = time.monotonic() + timeout
        while True:
            found = [j for j in self.jobs() if j["state"] == "proposed" and _called(j, job)]
            if len(found) == 1:
                return found[0]
            if found:
                raise Error(_several("proposals", job, found))
            if time.monotonic() > end:
                raise Error(f"no job {job} has been proposed to the node in {self.dir} within {timeout:g} s")
            time.sleep(0.2)

    def approve(self, job: str, yes: Yes = False, timeout: float = 0) -> dict[str, Any]:
        """Consent to a job that others proposed, and return how it stands then.

        The person at the terminal sees the job's summary and is asked, unless yes says otherwise. timeout is how long
        to wait for the proposal, in seconds.
        """
        found = self.proposal(job, timeout)
        if not _agrees(found["summary"], f"does {found['self']} consent to {found['name']}?", yes):
            raise Error(f"{found['self']} has not consented to {found['name']}, which still waits")
        return self._decide(found["contract"], True)

    def refuse(self, job: str, reason: str = "its owner refused it", timeout: float = 0) -> dict[str, Any]:
        """Refuse a job that others proposed. It ends at all its parties, which are told the reason."""
        return self._decide(self.proposal(job, timeout)["contract"], False, reason)

    def cancel(self, job: str, reason: str) -> None:
        """End a job that has not ended, at all its parties, which are told the reason."""
        self._ask("POST", "/cancel", {"job": job, "reason": reason})

    # Jobs that this node proposes.

    def train(self, job: str | Mapping[str, Any], yes: Yes = False) -> dict[str, Any]:
        """Propose a job, follow it to its end and return this node's report.

        job is the text of a job file, or a dict of what stands in one. The person at the terminal sees what the job
        opens and sends and is asked, unless yes says otherwise. A job that has begun goes on when this is interrupted.

        It returns when the job is done here; the others' nodes are a moment behind. Where they run in one script, wait
        at each before a job that builds on this one.
        """
        text = job if isinstance(job, str) else toml(job)
        proposed = self._follow("/prepare", "summary", body=text.encode())
        contract, agreed = proposed["job"], False
        try:
            agreed = _agrees(proposed["text"], "consent and run it?", yes)
        finally:
            if not agreed:
                self._decide(contract, False, "the proposer decided against it")
        if not agreed:
            raise Error("not agreed: nothing was sent but the proposal's questions")
        return self._follow("/launch", "done", {"job": contract})["report"]

    def align(self, name: str, parties: Iterable[str], table: str = "train", yes: Yes = False,
              **parameters: Any) -> dict[str, Any]:
        """Find the rows of a table that all parties have, and keep them under a name; return this node's report.

        parameters are those of the alignment, such as keys=["customer"] or min_rows=100.
        """
        return self.train({"format": "hanse-job-v1", "name": name, "algorithm": "psi", "task": "align",
                           "parties": list(parties), "privacy": "sealed", "table": table,
                           "parameters": parameters}, yes)

    def wait(self, job: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the end of a job, at most timeout seconds, and return this node's report of it."""
        try:
            return self._json("GET", "/report", {"job": job, "wait": "true"}, timeout=timeout)
        except TimeoutError:
            raise Error(f"job {job} has not ended within {timeout:g} s, and goes on") from None

    def predict(self, model: str, table: str = "test", rows: str = "", yes: Yes = False, times: int = 1) -> Any:
        """Score a table's rows with a training's model, and return the scores as a table.

        Of a model in parts all parties score their table of that name, and the scores open to this node. rows names an
        alignment; rows of this node that another party lacks then have no score. times is how often a row may be scored
        with a sealed model, over all jobs. Where this node has all scores from before, nobody is asked.

        A model of this node's own, which a job over clients' streams leaves, predicts alone: hanse predict does it.
        """
        training = self._training(model)
        if training.get("servers"):
            words = ["predict", "--model", training["contract"], "--table", table, "--dir", self.dir]
            return _table(self._run(*words).stdout)
        job = {"format": "hanse-job-v1", "name": training["name"] + "-scores", "algorithm": training["algorithm"],
               "task": "predict", "parties": training["parties"], "privacy": training["privacy"],
               "topology": training["topology"], "table": table, "model": training["contract"],
               "open_to": training["self"], "rows": rows, "scores_per_row": times}
        if training["privacy"] != "sealed":
            del job["scores_per_row"]
        elif not rows:
            known = self._ask("GET", "/known", {"model": training["contract"], "table": table, "times": times})
            if known:
                return _table(known.decode())
        report = self.train({k: v for k, v in job.items() if v}, yes)
        return self.scores(report["contract"])

    # The audit.

    def audit(self, job: str, others: Iterable[str | os.PathLike[str]] = (), charter: str | None = None,
              data: Mapping[str, str] | None = None, page: str | None = None) -> dict[str, Any]:
        """Audit a job that has ended, and return the signed report; its "verdict" is clean, partial, disclosed, leak or
        unverifiable, its "summary" says it in words.

        others are folders of further nodes, data tables by party, charter the charter's file, and page a file that gets
        the report for people. The node has no such command: hanse audit does it.
        """
        words = ["audit", job, "--json", "--dir", self.dir]
        for folder in others:
            words += ["--dir", os.fspath(folder)]
        for party, file in (data or {}).items():
            words += ["--data", f"{party}={file}"]
        if charter:
            words += ["--charter", charter]
        if page:
            words += ["--report", page]
        return json.loads(self._run(*words, fine=(0, 1, 3, 4)).stdout)

    # How it is done.

    def _training(self, which: str) -> dict[str, Any]:
        """Find the one training of a name; of several those count that are done."""
        found = [j for j in self.jobs() if j["task"] == "train" and _called(j, which)]
        found = [j for j in found if j["state"] == "done"] or found
        if len(found) != 1:
            raise Error(_several("trainings", which, found) if found else
                        f"the node in {self.dir} has no training {which}; jobs() lists what it has")
        if found[0]["state"] != "done":
            raise Error(f"training {which} is {found[0]['state']}, not done")
        return found[0]

    def _decide(self, contract: str, yes: bool, reason: str = "") -> dict[str, Any]:
        """Tell the node a person's decision on a contract."""
        decision = {"contract": contract, "yes": yes, "reason": reason}
        return self._json("POST", "/decide", body=json.dumps(decision).encode())

    def _run(self, *words: str, fine: Iterable[int] = (0,)) -> subprocess.CompletedProcess[str]:
        """Run the hanse program; an exit code that is not fine, or one that says nothing but why, is an Error."""
        try:
            done = subprocess.run([self.program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            raise Error(f"there is no program {self.program}, which {words[0]} needs: install it, or give its path as "
                        "program") from None
        if done.returncode not in fine or done.returncode and not done.stdout:
            said = ("\n" + done.stderr).rpartition("\nhanse: ")[2]  # after what it told on its way
            raise Error(said or f"{self.program} {words[0]} ended with {done.returncode}")
        return done

    def _follow(self, path: str, last: str, query: Mapping[str, Any] | None = None,
                body: bytes = b"") -> dict[str, Any]:
        """Hear the events of a request and return the one of the last kind. An error that nothing follows is raised."""
        failure = f"the node in {self.dir} was stopped; a job that had begun goes on when it is started again"
        with self._answer("POST", path, query, body) as answer:
            try:
                for line in answer:
                    event = json.loads(line)
                    if event["kind"] == last:
                        return event
                    if event["kind"] == "error":
                        failure = event["text"]
                    else:
                        self.listen(event)
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                pass  # a node that stops breaks its line off
        raise Error(failure)

    def _json(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: bytes = b"",
              timeout: float | None = None) -> Any:
        """Send a request that is answered with JSON."""
        return json.loads(self._ask(method, path, query, body, timeout))

    def _ask(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: bytes = b"",
             timeout: float | None = None) -> bytes:
        """Send a request and return the whole answer."""
        with self._answer(method, path, query, body, timeout) as answer:
            return answer.read()

    @contextmanager
    def _answer(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: bytes = b"",
                timeout: float | None = None) -> Iterator[http.client.HTTPResponse]:
        """Send a request and lend the answer; a refusal is an Error with the node's words."""
        connection = _Connection(self.dir, timeout)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise Error(f"no node runs in {self.dir}: start one with hanse node --dir {self.dir}") from error
            connection.request(method, path + ("?" + urlencode(query) if query else ""), body)
            answer = connection.getresponse()
            if answer.status != 200:
                raise Error(answer.read().decode(errors="replace"))
            yield answer
        except (ConnectionError, http.client.HTTPException) as error:
            raise Error(f"the node in {self.dir} was stopped before it had answered: start it again") from error
        finally:
            connection.close()


def _called(job: Mapping[str, Any], which: str) -> bool:
    """Tell whether a job has that name, or a contract that begins so."""
    return job["name"] == which or len(which) >= 4 and job["contract"].startswith(which)


def _several(kind: str, which: str, found: list[dict[str, Any]]) -> str:
    """Say that a name is that of several jobs."""
    digits = " or ".join(f"{j['contract'][:8]} ({j['state']})" for j in found)
    return f"there are {len(found)} {kind} {which}: give the first digits of the contract in its place, {digits}"


def _agrees(summary: str, question: str, yes: Yes) -> bool:
    """Learn whether a person consents to what a summary says."""
    if callable(yes):
        return bool(yes(summary))
    if yes:
        return True
    print(summary)
    try:
        return input(f"{question} [yes/no] ").strip().lower() in ("y", "yes")
    except EOFError:
        raise Error("there is nobody to ask: give yes=True to consent without a question") from None
