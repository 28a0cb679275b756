"""Writes pickles of Python 3 and what Python reads from them, a line of JSON each:

    python3 graphite/pickle/testdata/record.py > graphite/pickle/testdata/pickles.jsonl

Values are written as ["tuple", ...], ["list", ...], {"f": repr}, {"i": digits}, {"s": text}, {"b": base64}, null, true, false,
"dict"; an error is "error".
"""
import base64, io, json, math, pickle, pickletools, random, sys

random.seed(1)


class Safe(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError('unsafe')


def shown(v, depth=0):
    if depth > 50:
        return 'deep'
    if v is None or v is True or v is False:
        return v
    if isinstance(v, int):
        return {'i': str(v)} if abs(v) < 10 ** 400 else {'i': 'big'}
    if isinstance(v, float):
        return {'f': repr(v)}
    if isinstance(v, str):
        return {'s': v}
    if isinstance(v, (bytes, bytearray)):
        return {'b': base64.b64encode(v).decode()}
    if isinstance(v, tuple):
        return ['tuple'] + [shown(x, depth + 1) for x in v]
    if isinstance(v, list):
        return ['list'] + [shown(x, depth + 1) for x in v]
    if isinstance(v, dict):
        return 'dict'
    return 'other'


def read(p):
    try:
        return shown(Safe(io.BytesIO(p), encoding='utf-8').load())
    except Exception:
        return 'error'


def emit(p):
    json.dump({'pickle': base64.b64encode(p).decode(), 'value': read(p)}, sys.stdout)
    print()


def value(depth=0):
    k = random.randrange(12 if depth < 3 else 8)
    if k == 0:
        return random.choice([None, True, False])
    if k == 1:
        return random.choice([0, 1, 255, 256, 65535, 65536, 2 ** 31 - 1, -2 ** 31, 2 ** 31, 2 ** 63, -2 ** 63, 2 ** 200 + 1, -2 ** 900, 10 ** 320, -1, -129])
    if k == 2:
        return random.randrange(-10 ** 12, 10 ** 12)
    if k == 3:
        return random.choice([0.0, -0.0, 1.5, 1e308, -1e-320, math.inf, -math.inf, math.nan, 0.1])
    if k in (4, 5):
        return ''.join(random.choice("abc.;=~ '\"\\\n\t\u00e9\u0436\u20ac\U0001f600u0U") for _ in range(random.choice([0, 1, 3, 10, 270])))
    if k == 6:
        return random.gauss(0, 1e6)
    if k == 7:
        return bytes(random.randrange(256) for _ in range(random.choice([0, 1, 5, 260])))
    n = random.choice([0, 1, 2, 3, 4, 6])
    if k == 8:
        return {str(i): value(depth + 1) for i in range(n)}
    items = [value(depth + 1) for _ in range(n)]
    return tuple(items) if k % 2 else items


for protocol in range(6):
    for _ in range(80):
        emit(pickle.dumps(value(1), protocol))
    for n in (0, 1, 2, 30, 300):
        emit(pickle.dumps([('a.b%d' % random.randrange(3), (1741060000 + i, round(random.gauss(0, 10), 3))) for i in range(n)], protocol))
    shared = ('x', [1, 2])
    emit(pickle.dumps([shared, shared, [shared]], protocol))
for text in [b'', b'.', b'N.', b'N.junk', b'(.', b'(t.', b'0.', b'(0N.', b'N0.', b'(1N.', b'1.', b'N2\x86.', b'2.', b'\x80\x06N.', b'\x80\x05N.', b']Na.', b'NNa.', b'](NNe.', b'(NNe.',
             b'N(Ne.', b']q\x00h\x00a.', b'h\x00.', b'Nq\x05h\x05\x86.', b'Np7\ng7\n\x86.', b'Nr\xff\xff\xff\xff.', b'I01\n.', b'I00\n.', b'I 12 \n.', b'I1_0\n.', b'Ix\n.', b'I\n.', b'L5L\n.', b'L-5\n.',
             b'F1e400\n.', b'Fnan\n.', b'F1\n.', b"S'a\\x41\\n\\101\\q\\\\\\''\n.", b'S"a\\"b"\n.', b"S'\n.", b"Sab\n.", b"S''\n.", b"S'\\xff'\n.", b"S'\xd0\xb6'\n.", b'Va\\u0416\\n\\\\u0041\n.', b'V\xe9\n.', b'V\\u12\n.',
             b'V\\U0001f600\n.', b'V\\U00110000\n.', b'U\x03abc.', b'T\x03\x00\x00\x00abc.', b'U\x02\xff\xfe.', b'X\xff\xff\xff\xffa.', b'\x8a\x00.', b'\x8a\x01\xff.', b'\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x80.',
             b'\x8b\x01\x00\x00\x00\x05.', b'\x95\x05\x00\x00\x00\x00\x00\x00\x00N.', b'\x95\x02\x00\x00\x00\x00\x00\x00\x00N.', b'}.', b'(d.', b'}NNs.', b'}(NNu.', b'NNNs.', b'N(NNu.', b'cos\nsystem\n.',
             b'cos\nsystem\n(S"true"\ntR.', b'(S"x"\nios\nsystem\n.', b'\x8c\x02os\x8c\x06system\x93.', b'\x82\x01.', b'Px\n.', b'NQ.', b'\x8f.', b'](NN\x90.', b'\x97.', b'\xff.', b'Nb.', b'\x85.', b'N\x87.', b'(N\x86.',
             b'N(\x85.', b'((Nt\x85.', b'\x96\x02\x00\x00\x00\x00\x00\x00\x00ab.', b'\x8e\x02\x00\x00\x00\x00\x00\x00\x00ab.', b'\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab.', b'B\x02\x00\x00\x00ab.', b'\x94.', b'N\x94h\x00\x86.']:
    emit(text)
