package e2e_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testTSDLayout starts adapters with UID widths and salts that do not fit a TSD's tables: they end
// with an error that names the flags, and the tables are unchanged. The right flags work.
func testTSDLayout(t *testing.T, s tables) {
	s.flags = []string{"--storage.uid-width.metric=4", "--storage.uid-width.tagk=4", "--storage.uid-width.tagv=4", "--storage.salt.width=1", "--storage.salt.buckets=4"}
	s.create(t)
	// The tables are empty: an adapter with wrong flags cannot know it yet.
	plain := s
	plain.flags = nil
	early := plain.startAdapter(t)
	d := s.startTSD(t, false, append(withoutMeta(),
		"tsd.storage.uid.width.metric", "4", "tsd.storage.uid.width.tagk", "4", "tsd.storage.uid.width.tagv", "4",
		"tsd.storage.salt.width", "1", "tsd.storage.salt.buckets", "4")...)
	want := pointSet{}
	var points []tsdPoint
	for i := range 12 {
		host := "host" + string('a'+rune(i))
		points = append(points, tsdPoint{Metric: "layout", Timestamp: epoch.Unix() + 5, Value: jsonNumber(i), Tags: map[string]string{"host": host}})
		want.add(keyText("__name__", "layout", "host", host), at(5), float64(i))
	}
	d.Put(t, points...)

	select {
	case <-early.process.done:
		if !strings.Contains(early.Log(), "--storage.uid-width.metric=4 fits") {
			t.Errorf("an adapter with other widths than the TSD that was first ends without saying so:\n%s", early.Log())
		}
	case <-time.After(waitTimeout):
		t.Error("an adapter with other widths than the TSD that was first goes on")
	}
	before := s.allCells(t)
	s.refuses(t, nil, "--storage.uid-width.metric=4 fits", "--storage.uid-width.tagv=4 fits", "--storage.salt.width=1 --storage.salt.buckets=4 fits")
	s.refuses(t, s.flags[:3], "--storage.salt.width=0, but", "--storage.salt.width=1 --storage.salt.buckets=4 fits")
	s.refuses(t, append(s.flags[:4:4], "--storage.salt.buckets=20"), "--storage.salt.buckets=20, but", "--storage.salt.buckets=4 fits")
	s.refuses(t, append(s.flags[:2:2], s.flags[3:]...), "--storage.uid-width.tagv=3, but", "--storage.uid-width.tagv=4 fits")
	if diff := cmp.Diff(before, s.allCells(t)); diff != "" {
		t.Errorf("adapters with wrong flags changed the tables (-before +after):\n%s", diff)
	}

	a := s.startAdapter(t)
	want.write(t, a.client, samples(at(7), 7), "__name__", "layout", "host", "ours")
	want.check(t, "remote read", ourPoints(t, a.client, "layout", epoch, epoch.Add(time.Hour)))
	want.check(t, "TSD query", d.mustPoints(t, "layout", epoch, epoch.Add(time.Hour)))
}

// allCells returns the cells of tsdb, tsdb-uid and tsdb-meta.
func (s tables) allCells(t testing.TB) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, suffix := range []string{"", "-uid", "-meta"} {
		for _, c := range s.cells(t, s.name+suffix) {
			all[suffix+" "+c.row+" "+c.family+" "+c.qualifier+" "+c.value]++
		}
	}
	return all
}

// refuses fails the test unless an adapter with these flags in place of the tables' own ends by
// itself, with an error that has the texts.
func (s tables) refuses(t testing.TB, flags []string, why ...string) {
	t.Helper()
	s.flags = flags
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, adapterBinary(t), append([]string{"--web.listen-address=127.0.0.1:0"}, s.args()...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("adapter with %v ends with %v, want status 1\n%s", flags, err, out)
	}
	for _, text := range why {
		if !strings.Contains(string(out), text) {
			t.Errorf("adapter with %v does not print %q:\n%s", flags, text, out)
		}
	}
}
