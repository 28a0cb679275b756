#!/bin/sh
# record.sh DIR writes requests.jsonl: what programs of Mimir and Thanos ask a Prometheus, and what it answers. DIR has the
# programs: prometheus, thanos, mimirtool, and continuous, which runs Mimir's continuous test once: a main function over
# pkg/continuoustest. Recorded with Prometheus 3.15.0 (module v0.315.0), Thanos v0.39.2 and Mimir
# v1.3.1-0.20260423142704-aced80d74930, built in copies of their modules. That of Thanos needs
#	go mod edit -replace zenhack.net/go/util=github.com/zenhack/go-util@v0.0.0-20231005031245-66f5419c2aea
set -eu
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
started=
trap 'kill $started 2>/dev/null; wait; [ "${KEEP-}" ] || rm -rf "$work"' EXIT
background() { name=$1; shift; "$@" >"$work/$name.log" 2>&1 & started="$started $!"; }
ready() { # URL
	tries=0
	until curl -fsS -o /dev/null "$1" 2>/dev/null; do
		tries=$((tries + 1)); [ $tries -lt 300 ] || { echo "$1 does not answer"; exit 1; }
		sleep 0.2
	done
}
cat >"$work/prometheus.yml" <<'EOF'
global: {external_labels: {site: berlin}}
storage: {tsdb: {out_of_order_time_window: 1y}}
EOF
background prometheus "$bin/prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" \
	--web.listen-address=127.0.0.1:19090 --web.enable-remote-write-receiver --web.enable-otlp-receiver
ready http://127.0.0.1:19090/-/ready
rm -f "$here/requests.jsonl"
(cd "$work" && go build -o recorder "$here/record.go")
background recorder "$work/recorder" 127.0.0.1:19091 127.0.0.1:19090 "$here/requests.jsonl"
proxy=http://127.0.0.1:19091
ready $proxy/-/ready

for protocol in prometheus prometheus2 otlp-http; do
	[ $protocol = prometheus ] || sleep 21 # it writes once in 20 s
	"$bin/continuous" -tests.write-endpoint=$proxy -tests.read-endpoint=$proxy/prometheus -tests.write-protocol=$protocol \
		-tests.write-read-series-test.num-series=3 -tests.write-read-series-test.histogram-samples-enabled >"$work/continuous-$protocol.log" 2>&1 || true # Prometheus keeps no metadata of remote write
done

now=$(date +%s)
from=$(date -u -d @$((now - 7200)) +%Y-%m-%dT%H:%M:%SZ) to=$(date -u -d @$((now + 60)) +%Y-%m-%dT%H:%M:%SZ)
remote_read() { "$bin/mimirtool" remote-read "$1" --address=$proxy --id=tenant --from=$from --to=$to --selector='{__name__=~"mimir_continuous.*"}' "$2" >"$work/mimirtool-$1.log" 2>&1; }
remote_read stats --use-chunks
remote_read dump --no-use-chunks
remote_read export --tsdb-path="$work/exported"
(cd "$work" && "$bin/mimirtool" analyze prometheus --address=$proxy/prometheus --id=tenant >"$work/analyze.log" 2>&1) || true

background sidecar "$bin/thanos" sidecar --prometheus.url=$proxy --http-address=127.0.0.1:19092 --grpc-address=127.0.0.1:19093
ready http://127.0.0.1:19092/-/ready
background query "$bin/thanos" query --http-address=127.0.0.1:19094 --grpc-address=127.0.0.1:19095 --endpoint=127.0.0.1:19093 --query.promql-engine=prometheus
ready http://127.0.0.1:19094/-/ready
ask() { path=$1; shift; curl -fsS -G "http://127.0.0.1:19094/api/v1/$path" "$@"; echo; }
tries=0
until [ "$(ask query -d query=1 -d time=1)" ] && ask stores | grep -q sidecar; do
	tries=$((tries + 1)); [ $tries -lt 100 ]; sleep 0.2
done
{
	range="-d start=$((now - 3600)) -d end=$((now + 60))"
	ask query --data-urlencode 'query={__name__=~"mimir_continuous_test_sine.*"}' -d time=$now
	ask query_range --data-urlencode 'query=sum by (__name__) ({__name__=~"mimir_continuous.*",site="berlin"})' $range -d step=20
	ask query_range --data-urlencode 'query=sum(rate(mimir_continuous_test_sine_wave_v2[5m]))' $range -d step=20
	ask series --data-urlencode 'match[]={__name__=~"mimir.*sine.*"}' $range
	ask labels $range
	ask labels $range --data-urlencode 'match[]={series_id="1"}'
	ask label/series_id/values $range
	ask label/__name__/values $range --data-urlencode 'match[]={series_id="1"}'
	ask label/site/values $range
	ask label/site/values $range --data-urlencode 'match[]={series_id="1"}'
	ask metadata
	ask rules
	ask targets
	ask query_exemplars --data-urlencode 'query=mimir_continuous_test_sine_wave_v2' $range
	ask status/tsdb || true
} >"$work/answers.log" 2>&1

cat >"$work/rules.yml" <<'EOF'
groups: [{name: g, interval: 1s, rules: [{record: recorded, expr: 'count({__name__=~"mimir_continuous.*"})', labels: {by: thanos}}]}]
EOF
cat >"$work/write.yml" <<EOF
remote_write: [{url: "$proxy/api/v1/write"}]
EOF
background rule "$bin/thanos" rule --data-dir="$work/rule" --rule-file="$work/rules.yml" --query=$proxy --label='replica="r"' --eval-interval=1s \
	--remote-write.config-file="$work/write.yml" --http-address=127.0.0.1:19096 --grpc-address=127.0.0.1:19097
tries=0
until grep -q '"URI":"/api/v1/write"' "$here/requests.jsonl"; do
	tries=$((tries + 1)); [ $tries -lt 150 ]; sleep 0.2
done
cp "$work"/*.log "${LOGS:-$work}" 2>/dev/null || true
echo "$(wc -l <"$here/requests.jsonl") requests"
