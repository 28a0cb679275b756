#!/usr/bin/env python3
"""Records whisper files and what whisper reads of them: *.wsp and fetches.jsonl beside this script. Then more points
come (later.jsonl, a line for each file), after which it reads again (fetches_later.jsonl).

    pip install whisper==1.1.10
    python3 record.py

Each line of fetches*.jsonl is a call of whisper.fetch and its answer; null is None.
"""
import json
import os
import random
import shutil
import tempfile

import whisper

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN = 1741046400  # 2025-03-04 00:00:00 UTC

# name: (archives, method, xff, hours of points, seconds between points, share of points that is missing)
FILES = {
    'avg': ('10s:20min,1min:2h,10min:1d', 'average', 0.5, 27, 10, 0.2),
    'avg_any': ('10s:20min,1min:2h,10min:1d', 'average', 0.0, 27, 10, 0.6),
    'avg_all': ('10s:20min,1min:2h,10min:1d', 'average', 1.0, 27, 10, 0.02),
    'sum': ('10s:20min,1min:2h,10min:1d', 'sum', 0.3, 5, 10, 0.4),
    'min': ('10s:20min,1min:2h,10min:1d', 'min', 0.5, 30, 10, 0.1),
    'max': ('10s:20min,1min:2h,10min:1d', 'max', 0.0, 30, 10, 0.1),
    'last': ('60s:1h,5min:12h,1h:3d', 'last', 0.1, 100, 60, 0.3),
    'avg_zero': ('60s:1h,5min:12h,1h:3d', 'avg_zero', 0.2, 50, 60, 0.5),
    'absmax': ('60s:1h,5min:12h,1h:3d', 'absmax', 0.5, 50, 60, 0.1),
    'absmin': ('60s:1h,5min:12h,1h:3d', 'absmin', 0.5, 50, 60, 0.1),
    'one': ('7s:1h', 'average', 0.5, 2, 7, 0.1),
    'empty': ('60s:1h,5min:12h', 'sum', 0.5, 0, 60, 0.0),
}


def feed(path, hours, step, missing, rand):
    now = BEGIN
    batch = []
    while now < BEGIN + hours * 3600:
        now += step
        if rand.random() < missing or (now // 3600) % 7 == 3:
            continue
        value = rand.choice([rand.uniform(-50, 50), float(rand.randrange(-100, 100)), 0.0, 1e300, -0.0, 3.0])
        late = rand.choice([0, 0, 0, 0, step, 30 * step]) if rand.random() < 0.1 else 0
        point = (now - late + rand.randrange(step), value)
        if rand.random() < 0.3:
            batch.append(point)
            continue
        if batch:
            whisper.update_many(path, batch, now=now + step)
            batch = []
        whisper.update(path, value, point[0], now=now + step)
    return now


def fetch(out, name, path, end, step, rand):
    longest = whisper.info(path)['maxRetention']
    for _ in range(40):
        now = end + rand.choice([0, 1, step, rand.randrange(3600), rand.randrange(longest)])
        since = now - int(longest ** rand.random() * rand.choice([1, 1, 1.2]))
        until = rand.choice([now, now, rand.randint(since, now), since, now + 100])
        if until < since:
            continue
        answer = whisper.fetch(path, since, until, now)
        line = {'file': name, 'from': since, 'until': until, 'now': now}
        if answer is not None:
            (line['start'], line['end'], line['step']), line['values'] = answer
        out.write(json.dumps(line) + '\n')


def later(out, name, path, end, step, missing, rand):
    points = []
    for n in range(rand.choice([1, 7, 300, 540])):
        end += step
        if rand.random() >= missing:
            points.append((end + rand.randrange(step), rand.choice([rand.uniform(-50, 50), 7.0])))
            whisper.update(path, points[-1][1], points[-1][0], now=end + step)
    out.write(json.dumps({'file': name, 'points': points}) + '\n')
    return end


def main():
    work = tempfile.mkdtemp()
    outs = [open(os.path.join(HERE, name), 'w') for name in ('fetches.jsonl', 'later.jsonl', 'fetches_later.jsonl')]
    for name, (archives, method, xff, hours, step, missing) in sorted(FILES.items()):
        rand = random.Random(name)
        path = os.path.join(HERE, name + '.wsp')
        if os.path.exists(path):
            os.remove(path)
        whisper.create(path, [whisper.parseRetentionDef(a) for a in archives.split(',')], xff, method)
        end = feed(path, hours, step, missing, rand)
        fetch(outs[0], name, path, end, step, rand)
        grown = shutil.copy(path, os.path.join(work, name + '.wsp'))
        end = later(outs[1], name, grown, end, step, missing, rand)
        fetch(outs[2], name, grown, end, step, rand)
    for out in outs:
        out.close()
    shutil.rmtree(work)


if __name__ == '__main__':
    main()
