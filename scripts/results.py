"""results.py junit|tap FILE: prints 'passed failed skipped' of one runner's own report. Exit status 1 when there is no usable report."""

import re
import sys
import xml.etree.ElementTree as ElementTree


def count_junit(path):
    """pytest's and GoogleTest's XML: one testcase element a test; the counts in the head differ between the two, the cases do not."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def count_tap(path):
    """The closing comments of Node's TAP reporter, '# pass 12' and so on; the last of each counts."""
    found = dict(re.findall(r"^# (tests|pass|fail|cancelled|skipped|todo) (\d+)$", open(path, encoding="utf-8").read(), re.MULTILINE))
    if "tests" not in found:
        raise ValueError("no totals")
    number = {name: int(value) for name, value in found.items()}
    return number["pass"], number["fail"] + number["cancelled"], number["skipped"] + number["todo"]


def main():
    readers = {"junit": count_junit, "tap": count_tap}
    kind, path = sys.argv[1:]
    try:
        print(*readers[kind](path))
    except (OSError, ValueError, KeyError, ElementTree.ParseError) as problem:
        sys.exit(f"{path}: no usable report ({problem})")


if __name__ == "__main__":
    main()
