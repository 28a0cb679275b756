package schema

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestKeys runs the data files about row keys, TSUIDs and salts. metric=, tagk=, tagv=, salt= and
// buckets= are the layout.
//
//	decode    a row key -> its parts; a key that its parts do not give again is an error
//	tsuid     metric and pairs in any order -> TSUID
//	key       TSUID and base time a line -> row key
//	range     bucket, metric and base time a line -> bound of a scan
//	salt      TSUID a line -> Java's hash, bucket and salt
//	validate  -> what is wrong with the layout
func TestKeys(t *testing.T) {
	for _, file := range []string{"row_keys", "salts"} {
		t.Run(file, func(t *testing.T) {
			datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
				l := layoutOf(t, d)
				switch d.Cmd {
				case "decode":
					return describeKey(l, parseHex(t, d.Input))
				case "tsuid":
					return eachLine(d, func(line string) string { return buildTSUID(t, l, line) })
				case "key":
					return eachLine(d, func(line string) string {
						tsuid, base, _ := strings.Cut(line, "@")
						return fmt.Sprintf("%X", l.AppendRowKey(nil, parseHex(t, tsuid), parseBase(t, base)))
					})
				case "range":
					return eachLine(d, func(line string) string { return buildRange(t, l, line) })
				case "salt":
					return eachLine(d, func(line string) string {
						tsuid := parseHex(t, line)
						bucket := l.Bucket(tsuid)
						return fmt.Sprintf("%d %d %s", javaHash(tsuid), bucket, hexOrNone(l.AppendSalt(nil, bucket)))
					})
				case "validate":
					if err := l.Validate(); err != nil {
						return err.Error()
					}
					return fmt.Sprintf("prefix %d, pair %d, %d buckets", l.PrefixWidth(), l.PairWidth(), l.Buckets())
				}
				d.Fatalf(t, "unknown command")
				return ""
			})
		})
	}
}

func hexOrNone(b []byte) string {
	if len(b) == 0 {
		return "none"
	}
	return fmt.Sprintf("%X", b)
}

func parseBase(t *testing.T, s string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 32)
	if err != nil {
		t.Fatalf("base time %q: %v", s, err)
	}
	return uint32(n)
}

func describeKey(l Layout, key []byte) string {
	k, err := l.ParseRowKey(key)
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	var out strings.Builder
	if l.SaltWidth > 0 {
		fmt.Fprintf(&out, "salt      %X\n", key[:l.SaltWidth])
	}
	fmt.Fprintf(&out, "metric    %X\nbase time %d\n", k.Metric, k.Base)
	for tagk, tagv := range l.Pairs(k.Tags) {
		fmt.Fprintf(&out, "tag       %X=%X\n", tagk, tagv)
	}
	if again := l.AppendRowKey(nil, k.AppendTSUID(nil), k.Base); !bytes.Equal(again, key) {
		fmt.Fprintf(&out, "we would write %X\n", again)
	}
	return out.String()
}

// buildTSUID reads "metric tagk=tagv tagk=tagv".
func buildTSUID(t *testing.T, l Layout, line string) string {
	t.Helper()
	words := strings.Fields(line)
	var pairs []Pair
	for _, word := range words[1:] {
		tagk, tagv, _ := strings.Cut(word, "=")
		pairs = append(pairs, Pair{parseHex(t, tagk), parseHex(t, tagv)})
	}
	tsuid := l.AppendTSUID(nil, parseHex(t, words[0]), pairs)
	metric, tags, err := l.ParseTSUID(tsuid)
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	return fmt.Sprintf("%X %s", metric, hexOrNone(tags))
}

func buildRange(t *testing.T, l Layout, line string) string {
	t.Helper()
	words := strings.Fields(line)
	bucket, err := strconv.Atoi(words[0])
	if err != nil {
		t.Fatalf("bucket %q: %v", words[0], err)
	}
	return fmt.Sprintf("%X", l.AppendRangeKey(nil, bucket, parseHex(t, words[1]), parseBase(t, words[2])))
}

func TestParseTSUIDRefusesBrokenOnes(t *testing.T) {
	for _, tsuid := range []string{"", "0000", "0000010000", "00000100000100000100"} {
		if metric, tags, err := DefaultLayout().ParseTSUID(parseHex(t, tsuid)); err == nil {
			t.Errorf("ParseTSUID(%s) = %X, %X, want an error", tsuid, metric, tags)
		}
	}
}

// TestPartsOfKeysDoNotOverlap: appending to a part of a key must not overwrite what follows it.
func TestPartsOfKeysDoNotOverlap(t *testing.T) {
	l := DefaultLayout()
	key := parseHex(t, "000001 50E22700 000001000001")
	want := bytes.Clone(key)
	k, err := l.ParseRowKey(key)
	if err != nil {
		t.Fatal(err)
	}
	k.AppendTSUID(k.Metric)
	for tagk, tagv := range l.Pairs(k.Tags) {
		_, _ = append(tagk, 0xFF), append(tagv, 0xFF)
	}
	if !bytes.Equal(key, want) {
		t.Errorf("key = %X, want %X", key, want)
	}
}

func TestPairsStops(t *testing.T) {
	n := 0
	for range DefaultLayout().Pairs(make([]byte, 18)) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("loop ran %d times, want 1", n)
	}
}

// TestRowKeyOfRandomSeries: whatever the layout, a key gives its series and its hour back, and
// sorts within its bucket by time.
func TestRowKeyOfRandomSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		l := Layout{1 + rng.IntN(8), 1 + rng.IntN(8), 1 + rng.IntN(8), rng.IntN(9), 1 + rng.IntN(256)}
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		metric, pairs := randomBytes(rng, l.MetricWidth), make([]Pair, rng.IntN(5))
		for i := range pairs {
			pairs[i] = Pair{randomBytes(rng, l.TagkWidth), randomBytes(rng, l.TagvWidth)}
		}
		tsuid := l.AppendTSUID(nil, metric, pairs)
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		if again := l.AppendTSUID(nil, metric, pairs); !bytes.Equal(again, tsuid) {
			t.Fatalf("TSUID of shuffled pairs = %X, want %X", again, tsuid)
		}
		ms := rng.Int64N(1 << 32 * 1000)
		key := l.AppendRowKey(nil, tsuid, Base(ms))
		k, err := l.ParseRowKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.AppendTSUID(nil); !bytes.Equal(got, tsuid) || k.Base != Base(ms) {
			t.Fatalf("%+v: key %X has series %X at %d, want %X at %d", l, key, got, k.Base, tsuid, Base(ms))
		}
		if bound := l.AppendRangeKey(nil, l.Bucket(tsuid), metric, Base(ms)); !bytes.HasPrefix(key, bound) {
			t.Fatalf("%+v: key %X does not begin with its bound %X", l, key, bound)
		}
	}
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func FuzzParseRowKey(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0x50, 0xE2, 0x27, 0, 0, 0, 1, 0, 0, 1}, byte(0))
	f.Add([]byte{8, 0, 0, 1, 0x50, 0xE2, 0x27, 0, 0, 0, 1, 0, 0, 1}, byte(1))
	f.Add([]byte{0, 0, 0, 0x50, 0xE2, 0x27, 0}, byte(0))
	f.Fuzz(func(t *testing.T, key []byte, salt byte) {
		l := DefaultLayout()
		l.SaltWidth = int(salt % 9)
		k, err := l.ParseRowKey(key)
		if err != nil {
			return
		}
		tsuid := k.AppendTSUID(nil)
		if again := l.AppendRowKey(nil, tsuid, k.Base); !bytes.Equal(again[l.SaltWidth:], key[l.SaltWidth:]) {
			t.Errorf("row key %X becomes %X", key, again)
		}
		metric, tags, err := l.ParseTSUID(tsuid)
		if err != nil || !bytes.Equal(metric, k.Metric) || !bytes.Equal(tags, k.Tags) {
			t.Errorf("ParseTSUID(%X) = %X, %X, %v, want %X, %X", tsuid, metric, tags, err, k.Metric, k.Tags)
		}
	})
}
