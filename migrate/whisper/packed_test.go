package whisper

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

const packedDir = "testdata/compressed/"

// A packedFile is a line of testdata/compressed/points.jsonl, which record.go made.
type packedFile struct {
	File     string
	Method   string
	XFF      float32
	Archives [][2]int64
	Points   [][][2]uint64
}

// packedFiles calls use with all files.
func packedFiles(t testing.TB, use func(packedFile, []byte)) {
	t.Helper()
	f, err := os.Open(packedDir + "points.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var one packedFile
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		use(one, readFile(t, packedDir+one.File+".wsp"))
	}
	if n < 10 || lines.Err() != nil {
		t.Fatal(n, lines.Err())
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPackedPointsAreThoseThatGoWhisperReads(t *testing.T) {
	marked := 0 // blocks that have nothing but the mark of their end
	packedFiles(t, func(one packedFile, data []byte) {
		f, err := Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", one.File, err)
		}
		want := Header{Method: one.Method, XFF: float64(one.XFF)}
		for _, a := range one.Archives {
			want.Archives = append(want.Archives, conf.Archive{Step: a[0], Points: a[1]})
		}
		if diff := cmp.Diff(want, f.Header); diff != "" {
			t.Error(diff)
		}
		for level, points := range one.Points {
			got := f.Points(level)
			if ranges := f.archives[level].(*packed).ranges; binary.BigEndian.Uint32(ranges) == endMark {
				marked++
			}
			if got.LeftOut > 0 {
				t.Errorf("%s: %d blocks of archive %d are left out", one.File, got.LeftOut, level)
			}
			if len(points) > 0 { // go-whisper does not show older ones
				for len(got.Times) > 0 && got.Times[0] < int64(points[0][0]) {
					got.Times, got.Values = got.Times[1:], got.Values[1:]
				}
			}
			want := Points{}
			for _, p := range points {
				want.Times, want.Values = append(want.Times, int64(p[0])), append(want.Values, math.Float64frombits(p[1]))
			}
			if diff := cmp.Diff(want, got, sameBits, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, archive %d: %s", one.File, level, diff)
			}
		}
	})
	if marked == 0 {
		t.Error("no file has been made larger before a coarser archive had points")
	}
}

// change returns a copy of a file with another number at a place.
func change(data []byte, at int, v uint32) []byte {
	data = append([]byte(nil), data...)
	binary.BigEndian.PutUint32(data[at:], v)
	return data
}

func TestDamagedPacked(t *testing.T) {
	good := readFile(t, packedDir+"average.wsp")
	const head, list = len(packedMagic) + 1, packedHeaderBytes
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut header":   {good[:40], "40 bytes are no header"},
		"cut list":     {good[:300], "it ends in the list of its 3 archives"},
		"cut blocks":   {good[:len(good)-1], "archive 2 has"},
		"version":      {append(append([]byte(packedMagic), 2), good[head:]...), "compressed with the version 2"},
		"mix":          {change(good, head, 7), "several methods"},
		"method":       {change(good, head, 8), "aggregation method 8"},
		"xff":          {change(good, head+8, math.Float32bits(2)), "xFilesFactor 2"},
		"no archives":  {change(good, head+16, 0), "0 archives"},
		"archives":     {change(good, head+16, 1<<31), "2147483648 archives"},
		"longest":      {change(good, head+4, 1), "it reaches back 1 s"},
		"offset":       {change(good, list, math.MaxUint32), "archive 0 has"},
		"step":         {change(good, list+4, 0), "archive 0 has 120 slots of 0 s"},
		"no multiple":  {change(good, list+4, 7), "does not divide"},
		"slots":        {change(good, list+2*packedArchiveBytes+8, 1<<31), "reaches back further than time does"},
		"block":        {change(good, list+12, 3), "blocks of 3 bytes"},
		"blocks":       {change(good, list+16, math.MaxUint32), "archive 0 has 4294967295 blocks"},
		"more blocks":  {change(good, list+16, 8), "lie over each other"},
		"current":      {change(good, list+atCurrent, 99), "of block 99 of"},
		"written":      {change(good, list+atWritten, 1<<31), "archive 0 writes to byte"},
		"other ranges": {change(change(change(good, list+12, slotBytes), list+16, 900), list+atWritten, 0), "it ends in the ranges of archive 0"},
	} {
		if _, err := Parse(c.data); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A block with another byte is left out, and so are slots of a buffer with a time that does not belong there. All other
// points are those of the whole file.
func TestDamagedBlocks(t *testing.T) {
	good := readFile(t, packedDir+"max.wsp")
	f, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	whole, first := f.Points(0), f.archives[0].(*packed)
	blocks := first.sorted()
	damagedBlock := blocks[0]
	f, err = Parse(change(good, first.offset+damagedBlock.index*first.size+30, 0xDEADBEEF))
	if err != nil {
		t.Fatal(err)
	}
	want := Points{LeftOut: 1}
	for i, at := range whole.Times {
		if at < damagedBlock.start || at > damagedBlock.end {
			want.Times, want.Values = append(want.Times, at), append(want.Values, whole.Values[i])
		}
	}
	if diff := cmp.Diff(want, f.Points(0), sameBits); diff != "" || len(want.Times) == len(whole.Times) {
		t.Error(diff)
	}
	buffer := cap(good) - cap(first.buffer) // it is a part of good
	for i := range 2 * first.unit {
		at := binary.BigEndian.Uint32(good[buffer+i*slotBytes:])
		if at == 0 {
			continue
		}
		for _, bad := range []uint32{at + 1, at + 10} {
			f, err := Parse(change(good, buffer+i*slotBytes, bad))
			if err != nil {
				t.Fatal(err)
			}
			if p := f.Points(0); p.LeftOut != 1 || len(p.Times) != len(whole.Times)-1 {
				t.Errorf("%d points of %d, %d left out", len(p.Times), len(whole.Times), p.LeftOut)
			}
		}
		return
	}
	t.Error("the buffer is empty")
}

// A few bytes may have many points: no more of them are kept than the archive has slots for.
func TestPackedIsBounded(t *testing.T) {
	const size = 1 << 16
	a := &packed{data: make([]byte, size), step: 1, slots: 100, size: size, written: size, ranges: make([]byte, rangeBytes)}
	binary.BigEndian.PutUint32(a.data, 1_000_000)
	binary.BigEndian.PutUint32(a.data[slotBytes:], 0x80800000) // the second point a step later
	end := uint32(1_000_000 + 4*(size-slotBytes))
	binary.BigEndian.PutUint32(a.ranges, 1_000_000)
	for a.data[slotBytes+2] = 0; end > 1_000_000; end-- {
		binary.BigEndian.PutUint32(a.ranges[4:], end)
		binary.BigEndian.PutUint32(a.ranges[12:], crc32.ChecksumIEEE(a.data))
		if p := a.points(); p.LeftOut == 0 {
			if len(p.Times) < 200 || cap(p.Times) > 2000 || p.Times[len(p.Times)-1] != int64(end) {
				t.Fatalf("%d points of %d", len(p.Times), cap(p.Times))
			}
			return
		}
	}
	t.Fatal("no end suits")
}

func FuzzParsePacked(f *testing.F) {
	packedFiles(f, func(one packedFile, data []byte) {
		if len(data) < 8<<10 {
			f.Add(data)
		}
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		data = append([]byte(nil), data...)
		copy(data, packedMagic+"\x01")
		file, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		for level, a := range file.archives {
			a := a.(*packed)
			a.sign()
			p := file.Points(level)
			if len(p.Times) != len(p.Values) || int64(len(p.Times)) > 4*a.slots+int64(len(data)) {
				t.Fatalf("%d points of %d slots", len(p.Times), a.slots)
			}
			for n, at := range p.Times {
				if n > 0 && at <= p.Times[n-1] || at%a.step != 0 || at < 0 || at > math.MaxUint32 || math.IsNaN(p.Values[n]) {
					t.Fatalf("%v at %d", p.Values[n], at)
				}
			}
		}
	})
}

// sign gives the blocks the checksums that they have.
func (a *packed) sign() {
	for i := range len(a.ranges) / rangeBytes {
		from, whole := a.offset+i*a.size, a.size
		if i == a.current {
			whole = a.written
		}
		binary.BigEndian.PutUint32(a.ranges[i*rangeBytes+12:], crc32.ChecksumIEEE(a.data[from:from+whole]))
	}
}
