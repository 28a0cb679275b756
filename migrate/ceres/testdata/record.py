"""Records testdata/tree and testdata/points.txt with the ceres library (ceres.py of github.com/graphite-project/ceres):

    PYTHONPATH=DIRECTORY-OF-CERES python3 record.py

points.txt has a line for each point that the library reads back: node, step, time, value.
"""
import os
import random
import shutil

import ceres

random.seed(7)
here = os.path.dirname(os.path.abspath(__file__))
shutil.rmtree(os.path.join(here, 'tree'), ignore_errors=True)
tree = ceres.CeresTree.createTree(os.path.join(here, 'tree'))
base = 1700000400 - 1700000400 % 3600


def fill(path, start, end, step, missing, **properties):
  node = tree.getNode(path) or tree.createNode(path, timeStep=step, **properties)
  node.write([(t, round(random.random() * 100, 3)) for t in range(start, end, step) if random.random() >= missing])
  return node


plain = fill('servers.a.load', base, base + 7200, 60, 0.2, retentions=[[60, 1440]], xFilesFactor=0.3, aggregationMethod='max')
fill('servers.a.load', base + 40000, base + 43600, 60, 0.1)  # a gap: a second slice
bare = fill('servers.b', base, base + 600, 10, 0)
rolled = fill('rolled.up', base + 7200, base + 10800, 60, 0, retentions=[[60, 60], [300, 1000]], aggregationMethod='average')
coarse = ceres.CeresSlice.create(rolled, base, 300)  # as the plugin of ceres-maintenance leaves them
coarse.write([(t, float(t % 1000)) for t in range(base, base + 9000, 300)])  # it ends after the finer one begins

with open(os.path.join(here, 'points.txt'), 'w') as out:
  for path, start, end in [('servers.a.load', base, base + 43600), ('servers.b', base, base + 600), ('rolled.up', base + 7200, base + 10800)]:
    node = ceres.CeresTree(os.path.join(here, 'tree')).getNode(path)
    data = node.read(start, end)
    for t, v in data:
      if v is not None:
        print(path, data.timeStep, t, repr(v), file=out)
  node = ceres.CeresTree(os.path.join(here, 'tree')).getNode('rolled.up')
  data = node.read(base, base + 7200)  # the older part, from the coarse slice alone
  for t, v in data:
    if v is not None:
      print('rolled.up', data.timeStep, t, repr(v), file=out)
