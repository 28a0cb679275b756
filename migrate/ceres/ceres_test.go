package ceres_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/migrate/ceres"
)

// readNode reads a node of the recorded tree.
func readNode(t *testing.T, name string) *ceres.Node {
	t.Helper()
	dir := filepath.Join("testdata", "tree", filepath.FromSlash(strings.ReplaceAll(name, ".", "/")))
	properties, err := os.ReadFile(filepath.Join(dir, ceres.NodeFile))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.slice"))
	if err != nil {
		t.Fatal(err)
	}
	var all []ceres.Slice
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		start, step, ok := ceres.ParseSliceName(filepath.Base(file))
		if !ok {
			t.Fatalf("%s is no slice", file)
		}
		s, err := ceres.ParseSlice(start, step, data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	n, err := ceres.ParseNode(properties, all)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The points of the recorded tree are those that the ceres library reads.
func TestRecorded(t *testing.T) {
	file, err := os.Open("testdata/points.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want, got := map[string]int{}, map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var name, value string
		var step, at int64
		if _, err := fmt.Sscan(lines.Text(), &name, &step, &at, &value); err != nil {
			t.Fatal(err)
		}
		var v float64
		fmt.Sscan(value, &v)
		want[fmt.Sprintf("%s %d %d %v", name, step, at, v)]++
	}
	for name, archives := range map[string][]conf.Archive{
		"servers.a.load": {{Step: 60, Points: 1440}}, "servers.b": {{Step: 10, Points: math.MaxUint32 / 10}}, "rolled.up": {{Step: 60, Points: 60}, {Step: 300, Points: 1000}},
	} {
		n := readNode(t, name)
		if diff := cmp.Diff(archives, n.Archives); diff != "" || n.Strange() != 0 {
			t.Errorf("%s: %d strange slices; archives (-want +got):\n%s", name, n.Strange(), diff)
		}
		for level, a := range n.Archives {
			p := n.Points(level)
			for i, at := range p.Times {
				got[fmt.Sprintf("%s %d %d %v", name, a.Step, at, p.Values[i])]++
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 250 {
		t.Errorf("%d points (-want +got):\n%.2000s", len(want), diff)
	}
	if n := readNode(t, "servers.a.load"); n.Method != "max" || n.XFF != float64(float32(0.3)) {
		t.Errorf("method %s, xFilesFactor %v", n.Method, n.XFF)
	}
}

// Files that ceres does not write are refused with what is wrong.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"", "60.slice", "1@0.slice", "-5@60.slice", "61@60.slice", "60@60.slice.bak", "99999999999@60.slice", "4294967340@60.slice", "60@4294967295.slice"} {
		if start, step, ok := ceres.ParseSliceName(name); ok {
			t.Errorf("%q is a slice from %d, step %d", name, start, step)
		}
	}
	if _, err := ceres.ParseSlice(math.MaxUint32-59, 60, make([]byte, 16)); !errors.Is(err, ceres.ErrDamaged) {
		t.Errorf("a slice beyond 2106: %v", err)
	}
	for _, node := range []string{
		"", "[]", "{}", `{"timeStep":0}`, `{"timeStep":-60}`, `{"timeStep":1e300}`, `{"timeStep":60,"retentions":[[0,5]]}`, `{"timeStep":60,"retentions":[[60,-1]]}`,
		`{"timeStep":60,"retentions":[[60,10],[90,100]]}`, `{"timeStep":60,"retentions":[[60,9223372036854775807]]}`, `{"timeStep":60,"retentions":5}`,
	} {
		if n, err := ceres.ParseNode([]byte(node), nil); !errors.Is(err, ceres.ErrDamaged) {
			t.Errorf("%s: %+v, %v", node, n, err)
		}
	}
	for path, want := range map[string]string{"a/b/.ceres-node": "a.b", ".ceres-node": "", "/.ceres-node": "", "a/b": ""} {
		if name, ok := ceres.NameOf(path); ok != (want != "") || ok && name != want {
			t.Errorf("NameOf(%q) = %q, %t", path, name, ok)
		}
	}
}

// FuzzNode puts any properties and slices together: no panic, and points ascend within each archive.
func FuzzNode(f *testing.F) {
	f.Add([]byte(`{"timeStep":60,"retentions":[[60,10],[300,100]],"aggregationMethod":"sum"}`), uint32(600), uint32(300), []byte("12345678abcdefgh"))
	f.Add([]byte(`{"timeStep":60}`), uint32(60), uint32(60), []byte("12345678"))
	f.Fuzz(func(t *testing.T, properties []byte, start, step uint32, data []byte) {
		var all []ceres.Slice
		for i := range int64(2) {
			at, s, ok := ceres.ParseSliceName(fmt.Sprintf("%d@%d.slice", int64(start)+i*int64(step), step))
			if !ok {
				continue
			}
			if slice, err := ceres.ParseSlice(at, s, binary.BigEndian.AppendUint64(data, uint64(i))); err == nil {
				all = append(all, slice)
			}
		}
		n, err := ceres.ParseNode(properties, all)
		if err != nil {
			return
		}
		for level := range n.Archives {
			p := n.Points(level)
			for i := 1; i < len(p.Times); i++ {
				if p.Times[i] <= p.Times[i-1] {
					t.Fatalf("times %v", p.Times)
				}
			}
		}
	})
}
