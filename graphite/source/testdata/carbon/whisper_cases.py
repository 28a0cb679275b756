"""Asks whisper what it keeps of points: python3 whisper_cases.py | gzip -9n > whisper.jsonl.gz (pip install whisper==1.1.10).

A case is archives, the points in the order in which they came (each at its own time, some a little late), and windows with what
whisper.fetch gives for them. null for the whole reply: there is nothing to read.
"""
import json
import os
import random
import tempfile

import whisper

METHODS = ["average", "sum", "last", "max", "min", "avg_zero", "absmax", "absmin"]
RETENTIONS = ["10s:5m", "10s:2m,30s:10m,5m:2h", "1s:30s,5s:5m,60s:1h", "60:10", "7s:2m,21s:10m", "10s:1m,1m:1h,10m:1d"]


def case(r, number):
    retentions = RETENTIONS[number % len(RETENTIONS)]
    archives = [whisper.parseRetentionDef(a) for a in retentions.split(",")]
    method, xff = METHODS[number % len(METHODS)], r.choice([0, 0.1, 0.3, 0.5, 0.7, 1])
    path = tempfile.mktemp()
    whisper.create(path, archives, xFilesFactor=xff, aggregationMethod=method)
    fine, reach = archives[0]
    begin = 1741050000 + r.randrange(100000)
    clock, points, late = begin, [], min(fine * reach - 1, 3 * fine)
    for _ in range(r.choice([1, 5, 40, 90])):
        clock += r.choice([1, fine // 2, fine, fine, fine, fine, 2 * fine, 9 * fine])
        at = clock - (r.randrange(late) if r.random() < 0.1 else 0)
        value = r.choice([0.0, -1.5, r.randrange(-50, 50) / 4, 1e10])
        whisper.update(path, value, at, clock)
        points.append([at, value])
    longest = max(step * n for step, n in archives)
    windows = []
    for _ in range(12):
        now = clock + r.choice([0, 0, 0, 1, fine, longest // 3])
        start = now - r.randrange(int(longest * 1.3)) if r.random() < 0.95 else now + 5
        until = start + r.randrange(longest)
        got = whisper.fetch(path, start, until, now)
        windows.append([start, until, now, list(got[0]) + [got[1]] if got else None])
    os.remove(path)
    return {"retentions": retentions, "method": method, "xff": xff, "points": points, "windows": windows}


if __name__ == "__main__":
    r = random.Random(4)
    for n in range(96):
        print(json.dumps(case(r, n), separators=(",", ":")))
