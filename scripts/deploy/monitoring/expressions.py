"""Finds the metrics and labels that a PromQL expression asks for. promtool checks the syntax."""

import re

# Words that may stand where a metric could.
KEYWORDS = frozenset(
    "and or unless by without on ignoring group_left group_right offset bool inf nan atan2".split()
)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{([^}]*)\})?")
MATCHER = re.compile(r'([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
LABEL_LIST = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")


def selectors(expression):
    """Pairs of a metric's name and its matchers: (label, operator, value)."""
    text = LABEL_LIST.sub(" ", re.sub(r"\[[^\]]*\]", " ", expression))
    # A name before a bracket is a function; keywords and durations are neither.
    for match in SELECTOR.finditer(text):
        name, matchers = match.groups()
        before = text[: match.start()]
        inside = STRING.sub("", before)
        if inside.count("{") > inside.count("}") or before.count('"') % 2:
            continue
        follows = text[match.end() :].lstrip()
        if matchers is None and (name.lower() in KEYWORDS or follows.startswith("(")):
            continue
        if re.search(r"[0-9.]$", before):
            continue
        yield name, MATCHER.findall(matchers or "")


def grouping_labels(expression):
    """Labels of `by (...)`, `on (...)` and the like."""
    for match in LABEL_LIST.finditer(expression):
        yield from filter(None, (label.strip() for label in match.group(1).split(",")))
