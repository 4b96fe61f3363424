"""Why tests fail: reasons.txt, a line a test, `SUITE/TEST<tab>CLASS: REASON`.

`differs`: Millpond gives what MySQL 8 documents, and MariaDB documents or does something else; the line ends with where MySQL's manual says so, in
brackets. `extension`: the test uses what only MariaDB has. `missing`: MySQL 8 has it, Millpond doesn't yet. `defect`: Millpond has it, and does it
otherwise than MySQL 8."""

import re
from dataclasses import dataclass
from pathlib import Path

import compare

FILE = Path(__file__).resolve().parent / "reasons.txt"
CLASSES = ("differs", "extension", "missing", "defect")
# Those of tests that a server that is MySQL 8 to the letter fails too.
NOT_OURS = ("differs", "extension")
LINE = re.compile(r"(\w+): (.*\S)")
SECTION = re.compile(r"\[[^\[\]]+\]$")


@dataclass(frozen=True)
class Reason:
    cls: str
    text: str


def read():
    """The reasons by test. A line of another form has no class."""
    lines = [line.split("\t", 1) for line in FILE.read_text().splitlines() if line] if FILE.exists() else []
    return {name: Reason(m[1], m[2]) if (m := LINE.fullmatch(text)) and m[1] in CLASSES else Reason("", text) for name, text in lines}


def says_itself(verdict):
    """The reason of a failure, if the statement that failed, or the test, says it."""
    own = compare.explains_itself(verdict.reason)
    return own and Reason("missing", own)


def update(verdicts):
    """Leaves out the tests that fail no longer, and writes what says itself why it fails; what is given by hand stays. `verdicts`: by test."""
    failing = {name: v for name, v in verdicts.items() if v.state == "fail"}
    kept = {name: reason for name, reason in read().items() if name not in verdicts or name in failing}
    for name, v in failing.items():
        own = says_itself(v)
        if own and (name not in kept or kept[name].cls == own.cls and kept[name].text.startswith(compare.REFUSED)):
            kept[name] = own
    FILE.write_text("".join(f"{name}\t{f'{r.cls}: ' if r.cls else ''}{r.text}\n" for name, r in sorted(kept.items())))


def wrong(verdicts):
    """What of the file isn't so: lines without a class, `differs` without a section of the manual, reasons of tests that don't fail, failures
    without a reason, and another class than the failure says itself."""
    said, given = [], read()
    for name, r in given.items():
        if not r.cls:
            said.append(f"{name}: no class: {r.text}")
        elif r.cls == "differs" and not SECTION.search(r.text):
            said.append(f"{name}: no section of MySQL's manual: {r.text}")
        if name in verdicts and verdicts[name].state != "fail":
            said.append(f"{name}: a reason, though it does not fail: {verdicts[name].state}")
    for name, v in verdicts.items():
        if v.state != "fail":
            continue
        if name not in given:
            said.append(f"{name}: no reason: {v.reason}")
        elif says_itself(v) and given[name].cls in ("differs", "defect"):
            said.append(f"{name}: {given[name].cls}, though it says itself that something is missing: {v.reason}")
    return said
