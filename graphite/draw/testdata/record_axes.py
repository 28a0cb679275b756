"""Prints graphite-web's axes as JSON, one a line: of values, and of times.

With the packages of graphite-web 1.1.10 and DJANGO_SETTINGS_MODULE=graphite.settings:

    python record_axes.py | gzip -9n > axes.jsonl.gz
"""
import json
import random
from datetime import datetime

import django
import pytz

django.setup()
from graphite.render import glyph  # noqa: E402

random.seed(15)


def values(low, high, o):
    base = o.get('logBase')
    system = o.get('yUnitSystem', 'si')
    tics = glyph._LogAxisTics(low, high, unitSystem=system, base=base) if base else glyph._LinearAxisTics(low, high, unitSystem=system)
    try:
        tics.applySettings(axisMin=o.get('yMin'), axisMax=o.get('yMax'), axisLimit=o.get('yLimit'))
        if 'yStep' in o:
            tics.setStep(o['yStep'])
        else:
            tics.chooseStep(divisors=[int(d) for d in str(o.get('yDivisors', '4,5,6')).split(',')], binary=system == 'binary')
        tics.chooseLimits()
        marks = tics.getLabelValues()
        labels = [tics.makeLabel(v) for v in marks]
    except Exception:
        return dict(error=True)
    return dict(bottom=tics.bottom, top=tics.top, values=marks, labels=labels)


def times(start, span, width, zone):
    tz = pytz.timezone(zone)
    begin, end = (datetime.fromtimestamp(t, tz) for t in (start, start + span))
    per_pixel = float(span) / width
    potential = [c for c in glyph.xAxisConfigs if c['seconds'] <= per_pixel and c.get('maxInterval', span + 1) >= span]
    conf = potential[-1] if potential else glyph.xAxisConfigs[-1]
    out = {}
    for kind in 'minorGrid', 'majorGrid', 'label':
        at, delta = glyph.find_x_times(begin, conf[kind + 'Unit'], conf[kind + 'Step'])
        marks = []
        while at < end:
            marks.append([start + glyph.toSeconds(at - begin), at.strftime(conf['format'])] if kind == 'label' else start + glyph.toSeconds(at - begin))
            at += delta
        out[kind] = marks
    return out


for low, high in [(0, 1), (0, 100), (12, 17), (-5, 5), (0, 0), (7, 7), (-3, -3), (1e9, 3e9), (1e-6, 3e-6), (99.9, 100.1), (0, 1023), (1e15, 4e15), (59, 3600)]:
    for o in [{}, {'yMin': 0}, {'yMax': 50}, {'yMax': 'max'}, {'yLimit': 10}, {'yStep': 0.25}, {'yStep': 7}, {'yUnitSystem': 'binary'}, {'yUnitSystem': 'none'},
              {'yUnitSystem': 'sec'}, {'yUnitSystem': 'msec'}, {'yDivisors': '3,7'}, {'yDivisors': '1'}, {'logBase': 10.0}, {'logBase': 2.0}, {'yMin': -1, 'yMax': 1}]:
        print(json.dumps(dict(low=float(low), high=float(high), options=o, axis=values(float(low), float(high), o))))
for _ in range(200):
    a, b = sorted(random.choice([-1, 1, 1]) * random.uniform(1, 10) * 10 ** random.uniform(-6, 12) for _ in range(2))
    o = {'yUnitSystem': random.choice(list(glyph.UnitSystems))}
    print(json.dumps(dict(low=a, high=b, options=o, axis=values(a, b, o))))
for zone in 'UTC', 'Europe/Berlin', 'Asia/Kolkata':
    for span in 60, 600, 1200, 3600, 7300, 6 * 3600, 86400, 3 * 86400, 8 * 86400, 20 * 86400, 60 * 86400:
        for width in 50, 280, 1000:
            start = 1741050007 - 40 * 86400
            print(json.dumps(dict(start=start, span=span, width=width, zone=zone, times=times(start, span, width, zone))))
