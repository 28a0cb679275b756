"""Records what the buffers of carbon's aggregator do with points, on a clock that is turned by hand.

    python record.py < script > recorded     (python with carbon==1.1.10, Python 3.11)

A script has paragraphs: a line "options intervals=N writeback=SECONDS|none", rules, a blank line, and then
lines "TIME NAME VALUE TIMESTAMP", in the order of TIME, and at last "TIME end". What the aggregator sends
is written as "TIME NAME VALUE TIMESTAMP", sorted within a TIME; Python's repr prints the values.
"""
import sys
import tempfile
import time

from twisted.internet.task import Clock, LoopingCall

clock = Clock()


def looping_call(f):
    call = LoopingCall(f)
    call.clock = clock
    return call


time.time = clock.seconds

from carbon.conf import settings  # noqa: E402
from carbon import conf, events, instrumentation, state  # noqa: E402

settings.update(conf.defaults)
state.events = events
state.instrumentation = instrumentation

from carbon.aggregator import buffers  # noqa: E402
from carbon.aggregator.buffers import BufferManager  # noqa: E402
from carbon.aggregator.processor import AggregationProcessor  # noqa: E402
from carbon.aggregator.rules import RuleManager  # noqa: E402

buffers.LoopingCall = looping_call
sent = []
events.metricGenerated.addHandler(
    lambda name, point: sent.append((int(clock.seconds()), name, float(point[1]), int(point[0]))))
processor = AggregationProcessor()


def turn(until):
    while clock.seconds() < until:
        clock.advance(1)


def play(paragraph, points):
    global sent
    sent = []
    BufferManager.clear()
    options = dict(word.split("=") for word in paragraph[0].split()[1:])
    settings["MAX_AGGREGATION_INTERVALS"] = int(options["intervals"])
    settings["WRITE_BACK_FREQUENCY"] = None if options["writeback"] == "none" else int(options["writeback"])
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as rules:
        rules.write("\n".join(paragraph[1:]) + "\n")
        rules.flush()
        RuleManager.rules_file, RuleManager.rules_last_read = rules.name, 0.0
        RuleManager.read_rules()
    passed = []
    for line in points:
        at, name, *rest = line.split()
        turn(int(at))
        if name != "end":
            passed += [n for n, _ in processor.process(name, (float(rest[1]), float(rest[0])))]
    print("\n".join(paragraph) + "\n")
    for line in points:
        print(line)
    print("----")
    for at, name, value, stamp in sorted(sent):
        print(at, name, repr(value), stamp)
    print("passed on", len(passed))
    print()


paragraphs = [p.split("\n") for p in sys.stdin.read().strip().split("\n\n")]
for i in range(0, len(paragraphs), 2):
    play(paragraphs[i], paragraphs[i + 1])
