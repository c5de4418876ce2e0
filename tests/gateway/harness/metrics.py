"""Prometheus text, read strictly: every sample belongs to a family that was announced with HELP and TYPE."""

import re

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\.)*)"')


class Samples:
    def __init__(self, text):
        self.types = {}
        self.values = {}  # (name, frozenset of label pairs): number
        helped = set()
        assert text == "" or text.endswith("\n")
        for line in text.splitlines():
            if line.startswith("# HELP "):
                helped.add(line.split(" ", 3)[2])
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name in helped and name not in self.types and kind in ("counter", "gauge", "histogram"), line
                self.types[name] = kind
            else:
                self._add(line)

    def _add(self, line):
        match = SAMPLE.fullmatch(line)
        assert match, f"not a sample: {line!r}"
        name, labels, value = match.groups()
        family = name if name in self.types else re.sub(r"_(bucket|sum|count)$", "", name)
        assert family in self.types, f"no TYPE before {line!r}"
        key = name, frozenset(LABEL.findall(labels or ""))
        assert key not in self.values, f"twice: {line!r}"
        self.values[key] = float(value)

    def get(self, name, **labels):
        """The value of one sample; an error when it is not there."""
        return self.values[name, frozenset(labels.items())]

    def total(self, name, **labels):
        """The sum over all samples of a name that carry these labels."""
        return sum(value for (key, pairs), value in self.values.items() if key == name and set(labels.items()) <= pairs)
