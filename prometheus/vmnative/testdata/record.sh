#!/bin/sh
# record.sh VICTORIA-METRICS NAME: records NAME.native and NAME.jsonl of the same data from a VictoriaMetrics.
set -eu
dir=$(mktemp -d)
"$1" -storageDataPath="$dir" -httpListenAddr=127.0.0.1:18428 -retentionPeriod=100y >"$dir.log" 2>&1 &
vm=$!
trap 'kill $vm; wait $vm 2>/dev/null || true; rm -rf "$dir" "$dir.log"' EXIT
until curl -fs http://127.0.0.1:18428/health >/dev/null; do kill -0 $vm; done
awk 'BEGIN {
	srand(1)
	print "{\"metric\":{\"__name__\":\"one\",\"a\":\"b c\"},\"values\":[0.1],\"timestamps\":[1700000000000]}"
	print "{\"metric\":{\"__name__\":\"zeros\"},\"values\":[0,0,0],\"timestamps\":[1700000000000,1700000015000,1700000030000]}"
	print "{\"metric\":{\"__name__\":\"special\"},\"values\":[1e999,-1e999,1.5,-1.5,5e-300,1.7e308],\"timestamps\":[1700000000000,1700000015000,1700000030001,1700000045000,1700000060000,1700000075000]}"
	print "{\"metric\":{\"__name__\":\"names\",\"x\\u0001y\":\"p\\u0000q\\u0002r\",\"ü\":\"ß\"},\"values\":[1,1],\"timestamps\":[1700000000000,1700000015000]}"
	print "{\"metric\":{\"__name__\":\"large\"},\"values\":[123456789012345678,3,1e20,1e-7],\"timestamps\":[1700000000000,1700000000001,1700000000002,1700000000003]}"
	for (s = 0; s < 4; s++) {
		t = 1700000000000; v = ""; at = ""; x = 0
		for (i = 0; i < 700; i++) {
			t += 15000 + (s == 0 ? 0 : int(rand() * 500))
			x += s < 2 ? int(rand() * 100) : rand() - 0.5
			if (s == 3) x = i * 2
			v = v (i ? "," : "") x; at = at (i ? "," : "") sprintf("%.0f", t)
		}
		print "{\"metric\":{\"__name__\":\"many\",\"s\":\"" s "\"},\"values\":[" v "],\"timestamps\":[" at "]}"
	}
}' | curl -fsS -X POST -T - http://127.0.0.1:18428/api/v1/import
curl -fsS http://127.0.0.1:18428/internal/force_flush
for kind in native jsonl; do
	curl -fsS -G http://127.0.0.1:18428/api/v1/export$(test $kind = native && echo /native || true) --data-urlencode 'match[]={__name__!=""}' -d start=1700000000 -d end=1700010000 -o "$2.$kind"
done
