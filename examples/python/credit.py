#!/usr/bin/env python3
"""The walk of examples/credit, driven from Python: four organisations, one model, and the audit of it.

    python3 credit.py [FOLDER]

Key files, charter and nodes are made with the hanse program, which must be in the path; all that follows goes through
hanse.py. The folder, "members" by default, must not be there yet; nodes and everything else of the walk are kept in it.
"""

import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hanse

NAMES = ["bank", "insurer", "telco", "retailer"]

POLICY = """format = "hanse-policy-v1"

[[accept]]
proposers = ["bank"]
privacy = ["sealed"]
min_rows = 50    # as the charter has it: a rule that says nothing accepts no alignment of fewer than 100 common rows
"""

CREDIT = {
    "format": "hanse-job-v1",
    "name": "credit",
    "algorithm": "fdskl",
    "task": "train",
    "parties": NAMES,
    "rows": "customers",
    "record": "full",
    "parameters": {"active": ["bank"], "label": "default", "features": 64, "lambda": 1e-3, "iterations": 50,
                   "seed": "a walk from Python"},
}


def free_ports(n: int) -> list[int]:
    """Find ports that nobody listens on, below those that systems hand out for outgoing connections."""
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < n:
            listener = held.enter_context(socket.socket())
            try:
                listener.bind(("0.0.0.0", random.randrange(20_000, 32_000)))
            except OSError:
                continue
            ports.append(listener.getsockname()[1])
        return ports


def found(members: Path) -> None:
    """Make tables, key files, the charter that all sign, and a policy: steps 1 to 4 of examples/credit."""
    def run(*words: str | Path) -> None:
        subprocess.run(["hanse", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run("split", "--people", "600", "--overlap", "0.6", "--out", members)
    cards: list[str | Path] = []
    for name, port in zip(NAMES, free_ports(len(NAMES))):
        run("keys", "new", "--no-passphrase", members / name / f"{name}.key", "--name", name, "--address", f"/ip4/127.0.0.1/tcp/{port}")
        cards += ["--card", members / name / f"{name}.card"]
    # The bank's new applicants are few: ninety of them are common, and alignments open a hundred where nobody says less.
    run("charter", "new", "--name", "credit", *cards, "--min-rows", "50", "--out", members / "charter.toml")
    for name in NAMES:
        run("charter", "sign", "--yes", "--key", members / name / f"{name}.key", members / "charter.toml")
    (members / "policy.toml").write_text(POLICY)


def start(members: Path, name: str, running: ExitStack) -> hanse.Node:
    """Start an organisation's node, which ends with the walk. The telco has no policy: a person decides there."""
    home = members / name
    words = ["hanse", "node", "--key", home / f"{name}.key", "--charter", members / "charter.toml",
             "--dir", home / "node",
             "--data", f"train={home / 'train.csv'}", "--data", f"test={home / 'test.csv'}"]
    if name in ("insurer", "retailer"):
        words += ["--policy", members / "policy.toml"]
    log = running.enter_context(open(home / "node.log", "w"))
    process = running.enter_context(subprocess.Popen(words, stderr=log))
    running.callback(process.terminate)
    return hanse.Node(home / "node", listen=lambda event: None)


def both(pool: ThreadPoolExecutor, proposal: Future[Any], decision: Callable[..., Any], *words: Any,
         **named: Any) -> Any:
    """Decide on what another proposes, and return what comes of the proposal. What goes wrong first is raised."""
    decided = pool.submit(decision, *words, **named)
    for one in as_completed([proposal, decided]):
        one.result()
    return proposal.result()


def walk(nodes: dict[str, hanse.Node], members: Path, pool: ThreadPoolExecutor) -> None:
    """Align, train, predict and audit. The bank proposes, and a person at the telco decides: here a line of Python.

    A job is done at each party a moment later than at another. What builds on it is proposed when it is done at all.
    """
    bank, telco = nodes["bank"], nodes["telco"]

    aligning = pool.submit(bank.align, "customers", NAMES, yes=True)
    both(pool, aligning, telco.approve, "customers", yes=True, timeout=60)
    reports = [node.wait("customers", timeout=60) for node in nodes.values()]
    print("common to all:", reports[0]["aligned"]["common"])

    early = pool.submit(bank.train, CREDIT | {"name": "too-early"}, yes=True)
    telco.refuse("too-early", reason="first we talk", timeout=60)
    try:
        early.result()
    except hanse.Error as error:
        print("the bank hears:", error)

    def reads(summary: str) -> bool:
        """Be the person who decides: see what the job opens and sends, and say whether that is as expected."""
        return "could rebuild all columns" in " ".join(summary.split()) and "who learns what" in summary

    training = pool.submit(bank.train, CREDIT, yes=True)
    both(pool, training, telco.approve, "credit", yes=reads, timeout=60)
    reports = [node.wait("credit", timeout=60) for node in nodes.values()]
    print("trained on:", reports[0]["rows"])

    aligning = pool.submit(bank.align, "march", NAMES, table="test", yes=True)
    both(pool, aligning, telco.approve, "march", yes=True, timeout=60)
    for node in nodes.values():
        node.wait("march", timeout=60)
    scoring = pool.submit(bank.predict, "credit", rows="march", yes=True)
    scores = both(pool, scoring, telco.approve, "credit-scores", yes=True, timeout=60)
    column = [row["score"] for row in scores] if isinstance(scores, list) else scores["score"].tolist()
    scored = sum(score is not None and score == score for score in column)
    print(f"scores: {scored} of {len(scores)} rows of the bank's, which all four know")

    audit = bank.audit("credit", others=[nodes[name].dir for name in NAMES[1:]],
                       charter=str(members / "charter.toml"),
                       data={name: str(members / name / "train.csv") for name in NAMES})
    print("audit:", audit["verdict"])


def main() -> None:
    """Walk, and end the nodes however it ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    members = Path(sys.argv[1] if len(sys.argv) > 1 else "members")
    found(members)
    with ThreadPoolExecutor() as pool, ExitStack() as running:
        nodes = {name: start(members, name, running) for name in NAMES}
        for node in nodes.values():
            node.ready()
        walk(nodes, members, pool)


if __name__ == "__main__":
    main()
