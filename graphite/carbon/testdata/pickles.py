"""Prints frames of carbon's pickle protocol as Go test data, a line of JSON each: python3 graphite/carbon/testdata/pickles.py > graphite/carbon/testdata/pickles.jsonl"""
import base64, json, pickle

T = 1741060000


def emit(name, value, protocol=2):
    print(json.dumps({'name': name, 'frame': base64.b64encode(pickle.dumps(value, protocol)).decode()}))


for protocol in range(6):
    emit('points, protocol %d' % protocol, [('p.a', (T, 1.5)), ('p.\u0436', (T + 1, 2)), ('p.a', (T + 2, -3))], protocol)
emit('texts and booleans', (('p.t', ('1741060000', ' 1_0.5\n')), ('p.b', (T, True)), ['p.l', [T + 0.9, '7']]))
emit('shapes', [('p.s', (T, 1)), (), 'ab', ('x',), ('x', T), ('x', (T, 1), 2), ('x', (T,)), None, {}, ('x', (None, 1)), ('x', (T, 'one')), ('', (T, 1)), ('p.s', (T + 1, 2))])
emit('NaN and times', [('p.n', (T, float('nan'))), ('p.n', (-1, 1)), ('p.n', (-2, 1)), ('p.n', (2 ** 33, 1)), ('p.n', (T, 2))])
emit('name of a number', [('p.x', (T, 1)), (5, (T, 1)), ('p.x', (T + 1, 1))])
emit('infinite time', [('p.i', (T, 1)), ('p.i', (float('inf'), 1)), ('p.i', (T + 1, 1))])
emit('time that is NaN', [('p.i', (float('nan'), 1))])
emit('scalar', 5)
emit('text', 'ab')
emit('dictionary', {'p.d': (T, 1)})
