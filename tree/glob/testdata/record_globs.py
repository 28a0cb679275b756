"""Says which names an element of a path matches for graphite-web: braces multiplied out, innermost first, then Python's fnmatch.
A line of output is a JSON object with a pattern, names, and those that match.

    python3 record_globs.py 500 > globs.jsonl
"""
import fnmatch
import json
import random
import re
import sys

INNERMOST = re.compile(r"\{([^{}]*)\}")


def variants(pattern):
    found = INNERMOST.search(pattern)
    if not found:
        return {pattern}
    begin, end = found.span()
    return set().union(*(variants(pattern[:begin] + alternative + pattern[end:]) for alternative in found.group(1).split(",")))


def main():
    random.seed(7)
    pieces = ["a", "b", "web", "01", "*", "*", "?", "[ab]", "[!ab]", "[^a]", "[a-c]", "[0-9]", "[", "]", "[]a]", "[!]a]", "[!", "{a,b}", "{",
              "}", ",", "{a}", "{a,}", "{[ab],c}", "{web{01,02},b}", "-", "é", "!", "[a-]", "[-a]", "[c-a]", "^", "**", "{a,b,*}", "}{", "[é-ü]"]
    names = ["a", "b", "c", "ab", "abc", "web01", "web02", "web", "01", "0", "9", "", "é", "ü", "-", "[", "]", "{", "}", ",", "!", "^", "aa", "ba",
             "a-b", "web0", "[ab]", "{a,b}", "a]", "[a", "webb", "bweb01", "^a"]
    for _ in range(int(sys.argv[1])):
        pattern = "".join(random.choice(pieces) for _ in range(random.randint(1, 4)))
        if pattern == "**":
            continue
        matched = {n for v in variants(pattern) for n in names if fnmatch.fnmatchcase(n, v)}
        print(json.dumps({"pattern": pattern, "names": names, "matches": sorted(matched)}, ensure_ascii=False))


main()
