package adapter

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// storesDir contains stores as versions of tsdbridge left them: NAME.tar.gz is the directory of a
// process that was killed, NAME.txt its content. A store is recorded once, by the version whose
// format it has, and never again:
//
//	TSDBRIDGE_RECORD_STORE=format4 go test ./adapter -run TestRecordStore
const storesDir = "../testdata/stores"

// TestUpgrade opens each recorded store, by the clock of its recording and by a later one, before
// and after a clean end, and checks every point, object and metadata. A restored backup of it must
// contain the same.
func TestUpgrade(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join(storesDir, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("recorded stores: %v, %v", archives, err)
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		want, err := os.ReadFile(filepath.Join(storesDir, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for later, clock := range map[string]func() time.Time{"then": fixtureNow, "now": time.Now} {
			t.Run(name+"/"+later, func(t *testing.T) {
				o := fixtureOptions(t)
				o.Now = clock
				unpackStore(t, archive, o.Path)
				for _, start := range []string{"first", "second"} {
					a, stop := runAdapter(t, o)
					checkDump(t, start+" start", dumpStore(t, a.store), string(want))
					stop()
				}
				backup := filepath.Join(t.TempDir(), "backup")
				if err := tables.BackUp(t.Context(), o.Options, backup); err != nil {
					t.Fatal(err)
				}
				o.Path = filepath.Join(t.TempDir(), "restored")
				if err := pebble.Restore(t.Context(), pebble.Options{Path: o.Path, Logger: o.Logger, Tables: o.Tables()}, backup); err != nil {
					t.Fatal(err)
				}
				a, _ := runAdapter(t, o)
				checkDump(t, "restored", dumpStore(t, a.store), string(want))
			})
		}
	}
}

// checkDump reports the lines in which two dumps differ.
func checkDump(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := "(end)", "(end)"
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("%s: line %d of %d, want %d lines:\n got %s\nwant %s", what, i+1, len(gotLines), len(wantLines), g, w)
			return
		}
	}
}

// TestRecordStore makes a store and records its content when its process was killed. The content
// equals that of a store in memory after the same requests.
func TestRecordStore(t *testing.T) {
	o := fixtureOptions(t)
	memory := o
	memory.Engine, memory.WriteMode = tables.EngineMemory, string(write.Through)
	reference, _ := runAdapter(t, memory)

	a, stop := runAdapter(t, o)
	fixtureFirst(t, a, reference)
	stop()
	// some of it is in table files
	compactStore(t, o)
	a, stop = runAdapter(t, o)
	fixtureSecond(t, a, reference)
	stop()
	a, _ = runAdapter(t, o)
	fixtureLast(t, a, reference)
	dump := dumpStore(t, a.store)
	checkDump(t, "recorded store", dump, dumpStore(t, reference.store))
	killed := filepath.Join(t.TempDir(), "killed")
	servertest.CopyRunning(t, o.Path, killed)
	if _, files, err := fsutil.DirSize(filepath.Join(killed, "log", "points")); err != nil || files < 2 {
		t.Fatalf("log of the killed store: %d files, %v", files, err)
	}
	name := os.Getenv("TSDBRIDGE_RECORD_STORE")
	if name == "" || t.Failed() {
		return
	}
	packStore(t, killed, filepath.Join(storesDir, name+".tar.gz"))
	if err := os.WriteFile(filepath.Join(storesDir, name+".txt"), []byte(dump), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fixtureNow returns the clock of a recorded store: half an hour into an hour.
func fixtureNow() time.Time { return promtest.Now().Add(30 * time.Minute) }

func fixtureOptions(t *testing.T) Options {
	t.Helper()
	o := storeTestOptions(t, write.Buffered)
	o.Now = fixtureNow
	o.Carbon.ListenAddress, o.OpenTSDB.ListenAddress = "127.0.0.1:0", "127.0.0.1:0"
	o.Graphite.Trees = declared(t, serversTree)
	return o
}

// at is a time in milliseconds, minutes after the hour in which a recorded store ends.
func fixtureTime(minutes int) int64 { return promtest.Now().UnixMilli() + int64(minutes)*60_000 }

// fixtureFirst writes hours that are over, by every protocol.
func fixtureFirst(t *testing.T, adapters ...*Adapter) {
	t.Helper()
	var b strings.Builder
	for host := range 3 {
		fmt.Fprintf(&b, `{__name__="load", host="web%d"}`, host)
		for m := -300; m < -60; m++ {
			fmt.Fprintf(&b, " %v@%d", math.Sqrt(float64(m*m+host)), fixtureTime(m))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, `{__name__="odd", "ünï cödé"="a\"b", job="a b/c.d"} NaN@%d nan:7ff0000000000002@%d +Inf@%d -Inf@%d -0@%d 5e-324@%d 0.1@%d`+"\n",
		fixtureTime(-299), fixtureTime(-298), fixtureTime(-297), fixtureTime(-296), fixtureTime(-295), fixtureTime(-294), fixtureTime(-293)+7)
	fmt.Fprintf(&b, `{__name__="sizes", job="h"} int:good@%d int:nhcb@%d float:good@%d ex:{trace_id="abc"}=1.5@%d`+"\n", fixtureTime(-290), fixtureTime(-280), fixtureTime(-270), fixtureTime(-290))
	b.WriteString("metadata counter \"load\" \"The load, more or less.\" \"ratio\"\n")
	for _, a := range adapters {
		sendRemoteWrite(t, a, b.String(), 1)
		sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="started", job="v2"} 1@%d<%d 2@%d<%d ex:{span="1"}=7@%d meta:gauge,"Help.","s"`, fixtureTime(-250), fixtureTime(-260), fixtureTime(-249), fixtureTime(-260), fixtureTime(-250)), 2)
		var lines strings.Builder
		for m := -300; m < -100; m++ {
			fmt.Fprintf(&lines, "servers.db1.disk.used %d %d\nplain.name.of.carbon %v %d\ntagged;dc=eu;rack=7 %d %d\n",
				m*1000, fixtureTime(m)/1000, float64(m)/3, fixtureTime(m)/1000, -m, fixtureTime(m)/1000)
		}
		sendCarbon(t, a, lines.String(), `tagged [{"dc" "eu"} {"rack" "7"}]`, fixtureTime(-101))
		sendPuts(t, a, fmt.Sprintf(`[{"metric":"sys.cpu.user","timestamp":%d,"value":42,"tags":{"host":"a"}},
			{"metric":"sys.cpu.user","timestamp":%d,"value":42.5,"tags":{"host":"a"}},
			{"metric":"sys.cpu.user","timestamp":%d,"value":9007199254740993,"tags":{"host":"b"}}]`, fixtureTime(-200)/1000, fixtureTime(-199)+5, fixtureTime(-198)/1000))
	}
}

// fixtureSecond writes the same points again, and others next to them.
func fixtureSecond(t *testing.T, adapters ...*Adapter) {
	t.Helper()
	for _, a := range adapters {
		sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="load", host="web1"} -1@%d -2@%d -3@%d`, fixtureTime(-300), fixtureTime(-200)+1, fixtureTime(-59)), 1)
		// where a histogram was
		sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="sizes", job="h"} 3@%d`, fixtureTime(-280)), 1)
		sendPuts(t, a, fmt.Sprintf(`{"metric":"sys.cpu.user","timestamp":%d,"value":7,"tags":{"host":"a"}}`, fixtureTime(-199)+5))
	}
}

// fixtureLast writes what only the log has when the process is killed: the open hour by every
// protocol, and corrections of hours that are in the tables.
func fixtureLast(t *testing.T, adapters ...*Adapter) {
	t.Helper()
	for _, a := range adapters {
		var b strings.Builder
		for m := range 25 {
			fmt.Fprintf(&b, `{__name__="load", host="web2"} %d@%d`+"\n", m, fixtureTime(m))
			fmt.Fprintf(&b, `{__name__="new in the log", n="%d"} %v@%d`+"\n", m%5, float64(m)+0.1, fixtureTime(m)+int64(m))
		}
		fmt.Fprintf(&b, `{__name__="sizes", job="h"} int:good@%d ex:{trace_id="def"}=2@%d`+"\n", fixtureTime(3), fixtureTime(3))
		fmt.Fprintf(&b, `{__name__="load", host="web0"} -7@%d`+"\n", fixtureTime(-299))
		sendRemoteWrite(t, a, b.String(), 1)
		sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="started", job="v2"} 3@%d<%d`, fixtureTime(5), fixtureTime(-260)), 2)
		sendCarbon(t, a, fmt.Sprintf("servers.db1.disk.used 17 %d\nplain.name.of.carbon 0.25 %d\n", fixtureTime(6)/1000, fixtureTime(7)/1000), `plain.name.of.carbon [{"-_" "1"}]`, fixtureTime(7))
		sendPuts(t, a, fmt.Sprintf(`{"metric":"sys.cpu.user","timestamp":%d,"value":-1,"tags":{"host":"a"}}`, fixtureTime(8)/1000))
	}
}

// sendRemoteWrite sends a text in the language of parseWrite.
func sendRemoteWrite(t *testing.T, a *Adapter, text string, version int) {
	t.Helper()
	q, err := promtest.ParseWrite(text)
	if err != nil {
		t.Fatal(err)
	}
	v1, v2 := q.V1(), q.V2()
	message, contentType := promtest.Marshal(t, &v1), "application/x-protobuf"
	if version == 2 {
		message, contentType = promtest.Marshal(t, &v2), contentType+";proto=io.prometheus.write.v2.Request"
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+"/api/v1/write", bytes.NewReader(snappy.Encode(nil, message)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Content-Encoding", "snappy")
	wantStatus(t, req, http.StatusNoContent)
}

func sendPuts(t *testing.T, a *Adapter, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.opentsdb.Addr()+"/api/put", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	wantStatus(t, req, http.StatusNoContent)
}

func wantStatus(t *testing.T, req *http.Request, status int) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != status {
		t.Fatalf("%s: %s %s %v, want %d", req.URL, resp.Status, body, err, status)
	}
}

// sendCarbon sends lines and waits until a series has the last of them.
func sendCarbon(t *testing.T, a *Adapter, lines, series string, last int64) {
	t.Helper()
	c, err := net.Dial("tcp", a.CarbonAddr())
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(c, lines)
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(dumpSeries(t, a.store)[series], fmt.Sprintf("\n%d ", last)); {
		time.Sleep(5 * time.Millisecond) // polling, with a deadline
		if time.Now().After(deadline) {
			t.Fatalf("carbon's lines never came: %s at %d", series, last)
		}
	}
}

// dumpStore returns the content of a store: series and metadata in ascending order. Each series is
// followed by its points (time and value, with the bits where the text is not exact) and its
// objects (time, kind and bytes).
func dumpStore(t *testing.T, s *store.Store) string {
	t.Helper()
	series := dumpSeries(t, s)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(series)) {
		b.WriteString(series[name])
	}
	metadata, err := s.Documents().Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		fmt.Fprintf(&b, "metadata %s %q\n", name, metadata[name])
	}
	return b.String()
}

func dumpSeries(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	found, err := s.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	names, q := map[storage.Ref]string{}, storage.Query{End: storage.MaxTime, Samples: true, Exemplars: true}
	for _, f := range found {
		names[f.Ref] = fmt.Sprintf("%s %q", f.Metric, f.Tags)
		q.Refs = append(q.Refs, f.Ref)
	}
	dump := map[string]string{}
	for p, err := range s.Select(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", names[p.Ref])
		for i, v := range p.Values {
			fmt.Fprintf(&b, "%d %v", p.Times[i], v)
			if math.IsNaN(v) {
				fmt.Fprintf(&b, " %x", math.Float64bits(v))
			}
			b.WriteByte('\n')
		}
		for _, o := range p.Objects {
			fmt.Fprintf(&b, "%d object %d %x\n", o.Time, o.Kind, o.Data)
		}
		dump[names[p.Ref]] = b.String()
	}
	return dump
}

// packStore makes an archive of a directory, which must not be there yet.
func packStore(t *testing.T, dir, archive string) {
	t.Helper()
	f, err := os.OpenFile(archive, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// unpackStore makes the directory of an archive. Blocks of zeros, which a log reserves, become
// holes.
func unpackStore(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o750)
		} else if err = os.MkdirAll(filepath.Dir(name), 0o750); err == nil {
			err = servertest.WriteSparse(r, h.Size, name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
