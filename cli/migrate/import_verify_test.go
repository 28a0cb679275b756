package migrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// What came in is equal, whatever the store has in addition; what was changed there is found.
func TestImportVerify(t *testing.T) {
	dir := promtest.DataDir(t)
	want := answerOfPrometheus(t, dir)
	for _, how := range []string{VerifyAll, VerifySample} {
		o := adaptertest.Options(t, write.Buffered)
		a, stop := adaptertest.Run(t, o)
		i := blocksOf(t, dir, func(i *ImportBlocksOptions) {
			i.Verify, i.State, i.Labels = how, filepath.Join(t.TempDir(), "state"), []string{"from=there"}
		})
		i.URL = "http://" + a.Addr()
		code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) })
		if code != 0 || !strings.Contains(out, fmt.Sprintf("compared: 12 series, %d samples, exemplars and start times; 0 series differ, 0 points are missing, 0 are others\n", len(want)+1)) {
			t.Errorf("%s: %d: %s", how, code, out)
		}
		changed := columns.With(promtest.DataLabels(2), labels.FromStrings("from", "there"))
		b := &columns.Batch{}
		b.Points.Add(b.Series(changed), promtest.DataBegin+2, 77.25)
		b.Points.Add(b.Series(changed), promtest.DataBegin+1, 1) // in addition
		if err := a.Appendable().Store(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		code, out = commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) })
		if code != command.ExitIncomplete || !strings.Contains(out, "differs: points of m2{from=there,n=2}: 1 are others there, the first at 2023-11-15T00:00:00Z\n") || !strings.Contains(out, "1 series differ, 0 points are missing, 1 are others\n") {
			t.Errorf("%s: %d: %s", how, code, out)
		}
		if told := servertest.Text(t, a, admin.TransfersPath); !strings.Contains(told, `"error":"1 series differ"`) {
			t.Error(told)
		}
		stop()
	}
}

// What the store refuses is missing.
func TestImportVerifyRefused(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	o.Prometheus.Write.SeriesBytes = len(promtest.DataLabels(10).Bytes(nil)) - 1
	i := blocksOf(t, promtest.DataDir(t), func(i *ImportBlocksOptions) { i.Verify = VerifyAll })
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, "differs: points of m1{n=10}: ") || !strings.Contains(out, "were refused; 2 series differ") {
		t.Errorf("%d: %s", code, out)
	}
}

// Text is compared as it is now, with what was imported.
func TestImportTextVerify(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	i := DefaultImportTextOptions()
	i.Verify, i.State, i.Skip = VerifyAll, filepath.Join(t.TempDir(), "state"), true
	i.Files = []string{textFile(t, "a{x=\"1\"} 2 1600000000 # {trace=\"t\"} 0.5 1600000000\nb 1 1600000001\na{x=\"1\"} 3 1600000000\nbad, and longer than what follows\n# EOF\n")}
	before, err := os.Stat(i.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	check := func(wantCode int, want string) {
		t.Helper()
		code, out := commandtest.Code(t, func(c command.Console) error { return ImportText(t.Context(), o, i, c) })
		if code != wantCode || !strings.Contains(out, want) {
			t.Errorf("%d: %s, want %s", code, out, want)
		}
	}
	check(command.ExitIncomplete, "compared: 2 series, 4 samples, exemplars and start times; 0 series differ, 0 points are missing")
	text := "a{x=\"1\"} 4 1600000000 # {trace=\"u\"} 0.5 1600000000\nb 1 1600000001\nb 1 1600000002\nc 1%s 1600000002\n# EOF\n"
	text = fmt.Sprintf(text, "."+strings.Repeat("0", int(before.Size())-len(text)+1)) // as long, and of the same time: the state takes it for the same
	if err := errors.Join(os.WriteFile(i.Files[0], []byte(text), 0o600), os.Chtimes(i.Files[0], time.Time{}, before.ModTime())); err != nil {
		t.Fatal(err)
	}
	check(command.ExitIncomplete, "3 series differ, 3 points are missing, 1 are others")
	i.Files = []string{"-"}
	check(command.ExitUsage, "--verify: the standard input cannot be read twice")
	i.Files = nil
	check(command.ExitUsage, "--verify: the standard input cannot be read twice")
}

// Lines of JSON and remote read are compared too.
func TestOtherVerify(t *testing.T) {
	from, want := filled(t)
	a, stop := adaptertest.Run(t, from)
	defer stop()
	i := DefaultImportFetchOptions()
	i.Server, i.From, i.To, i.Verify = "http://"+a.Addr()+"/api/v1/read", "2023-11-14T00:00:00Z", "2023-11-16T00:00:00Z", VerifyAll
	i.Match = []string{`{n="1"}`, `{n=~".+"}`} // the first one's series come once
	if err := i.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	o := adaptertest.Options(t, write.Buffered)
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportFetch(t.Context(), o, i, c) })
	if code != 0 || !strings.Contains(out, fmt.Sprintf("%d samples imported", len(want))) || !strings.Contains(out, fmt.Sprintf("compared: 12 series, %d samples", len(want))) || !strings.Contains(out, "0 series differ") {
		t.Errorf("%d: %s", code, out)
	}
	l := DefaultImportOptions()
	l.Verify, l.Skip = VerifyAll, true
	l.Files = []string{textFile(t, `{"metric":{"__name__":"m"},"values":[1,2],"timestamps":[1700000000000,1700000001000]}`+"\nbad\n"+`{"metric":{"a":"b"},"values":[1,2],"timestamps":[1700000000000,1700000001000]}`+"\n")}
	code, out = commandtest.Code(t, func(c command.Console) error { return ImportLines(t.Context(), o, l, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, "differs: points of {a=b}: 2 are missing") || !strings.Contains(out, "compared: 2 series, 4 samples") || !strings.HasSuffix(out, "2 bad lines were skipped; 1 series differ") {
		t.Errorf("%d: %s", code, out)
	}
}
