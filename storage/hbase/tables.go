package hbase

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A TableSpec describes how a table is made.
type TableSpec struct {
	Name     string // with a namespace: namespace:name
	Families []Family
	// Splits are the first keys of all regions but the first, in ascending order.
	Splits [][]byte
}

// A Family of a table, in HBase's own words.
type Family struct {
	Name        string
	Versions    int           // how many are kept of each cell; 0 in a table to make is 1
	Bloom       string        // BLOOMFILTER
	Encoding    string        // DATA_BLOCK_ENCODING
	Compression string        // or CompressionAuto in a table to make
	TTL         time.Duration // how long cells live; 0 is forever
	Block       int           // BLOCKSIZE in bytes; 0 is HBase's own, 64 KiB
}

// CompressionAuto asks for the best compression that the cluster has.
const CompressionAuto = "AUTO"

// TableNames are the names of the four tables of OpenTSDB.
type TableNames struct{ Data, UID, Meta, Tree string }

// TableOptions are how the tables of OpenTSDB are made.
type TableOptions struct {
	// MetricWidth is the width of metric UIDs in bytes; SaltWidth that of the salt before them (0:
	// none) and SaltBuckets the number of its values.
	MetricWidth, SaltWidth, SaltBuckets int
	// Splits of the data table, see ParseSplits.
	Splits Splits
	// Compression is none, gz, snappy, lz4, zstd or lzo, or auto: the best of them that the cluster
	// has. Except for the first two the region servers need a codec.
	Compression string
	// Encoding is none, prefix, diff, fast_diff or row_index_v1 (default diff).
	Encoding string
	// BlockSize is that of the data table in bytes (default 64 KiB).
	BlockSize int64
	// TTL is how long points live (0: forever). It counts from the time of writing, and holds for
	// the data table alone.
	TTL time.Duration
}

// Splits are where the regions of the data table begin: at Keys, or, without any, in Regions of
// equal width.
type Splits struct {
	Regions int
	Keys    [][]byte
}

// ParseSplits reads a number of regions, or keys in hex separated by commas. A single number is a
// number of regions.
func ParseSplits(text string) (Splits, error) {
	var s Splits
	if text == "" {
		return s, nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		s.Regions = n
		if s.Regions < 1 || s.Regions > 10000 {
			return Splits{}, fmt.Errorf("%d regions: want 1 to 10000", s.Regions)
		}
		return s, nil
	}
	for field := range strings.SplitSeq(text, ",") {
		key, err := hex.DecodeString(strings.TrimSpace(field))
		if err != nil || len(key) == 0 {
			return Splits{}, fmt.Errorf("split key %q is not hex", field)
		}
		s.Keys = append(s.Keys, key)
	}
	slices.SortFunc(s.Keys, bytes.Compare)
	s.Keys = slices.CompactFunc(s.Keys, bytes.Equal)
	return s, nil
}

// Bounds of a block size: HBase reads and decompresses a block to find a row in it.
const (
	minBlock = 4 << 10
	maxBlock = 16 << 20
)

// Validate returns what is wrong with the options.
func (o TableOptions) Validate() error {
	switch {
	case !slices.Contains([]string{"", "auto", "none", "gz", "snappy", "lz4", "zstd", "lzo"}, o.Compression):
		return fmt.Errorf("compression %q: want auto, none, gz, snappy, lz4, zstd or lzo", o.Compression)
	case !slices.Contains([]string{"", "none", "prefix", "diff", "fast_diff", "row_index_v1"}, o.Encoding):
		return fmt.Errorf("block encoding %q: want none, prefix, diff, fast_diff or row_index_v1", o.Encoding)
	case o.BlockSize != 0 && (o.BlockSize < minBlock || o.BlockSize > maxBlock):
		return fmt.Errorf("block size %d: want %d to %d bytes", o.BlockSize, minBlock, maxBlock)
	case o.TTL < 0 || o.TTL%time.Second != 0:
		return fmt.Errorf("time to live %v: want whole seconds", o.TTL)
	case o.SaltWidth > 0 && o.SaltBuckets < 1:
		return errors.New("a salt needs at least one bucket")
	}
	return nil
}

// OpenTSDBTables returns the four tables as OpenTSDB's create_table.sh makes them, except that the
// compression is none instead of that script's LZO, which a stock HBase does not have.
func OpenTSDBTables(names TableNames, o TableOptions) []TableSpec {
	points := o.points()
	points.TTL = o.TTL
	return []TableSpec{
		{Name: names.Data, Families: []Family{points}, Splits: o.dataSplits()},
		{Name: names.UID, Families: []Family{o.family("id"), o.family("name")}},
		{Name: names.Meta, Families: []Family{o.family("name")}},
		{Name: names.Tree, Families: []Family{o.family("t")}},
	}
}

// RollupTable returns a table of rolled up values. Its rows live for ever: it is there to be kept when
// the points are gone.
func RollupTable(name string, o TableOptions) TableSpec {
	return TableSpec{Name: name, Families: []Family{o.points()}, Splits: o.dataSplits()}
}

func (o TableOptions) family(name string) Family {
	return Family{
		Name: name, Bloom: "ROW", Encoding: hbaseName(o.Encoding, "DIFF"), Compression: hbaseName(o.Compression, "NONE"),
	}
}

// points returns the family of points.
func (o TableOptions) points() Family {
	f := o.family("t")
	if o.BlockSize != defaultBlock {
		f.Block = int(o.BlockSize)
	}
	return f
}

func hbaseName(name, unset string) string {
	if name == "" {
		return unset
	}
	return strings.ToUpper(name)
}

// dataSplits returns the requested keys, else one region for each value of the salt, else regions
// of equal width over the metric UIDs. The last helps only where UIDs are given out at random
// (tsd.core.uid.random_metrics): counted up from 1, they all begin with zeros.
func (o TableOptions) dataSplits() [][]byte {
	switch {
	case len(o.Splits.Keys) > 0:
		return o.Splits.Keys
	case o.SaltWidth > 0:
		var keys [][]byte
		for bucket := 1; bucket < o.SaltBuckets; bucket++ {
			keys = append(keys, bigEndian(uint64(bucket), o.SaltWidth))
		}
		return keys
	default:
		return evenSplits(o.Splits.Regions, o.MetricWidth)
	}
}

// evenSplits cuts the numbers of a width in bytes into n ranges.
func evenSplits(n, width int) [][]byte {
	var keys [][]byte
	for i := 1; i < n; i++ {
		// Four bytes decide; n is at most 10000.
		key := bigEndian(uint64(i)*(1<<32)/uint64(n), 4)
		key = append(key, make([]byte, max(0, width-4))...)[:max(1, width)]
		if len(keys) == 0 || !bytes.Equal(keys[len(keys)-1], key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func bigEndian(n uint64, width int) []byte {
	b := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		b[i] = byte(n)
		n >>= 8
	}
	return b
}

// attributes returns what HBase stores for a family. Everything is kept in one version: OpenTSDB
// reads no other, and appends grow without bound where there are more.
func (f Family) attributes() [][2]string {
	a := [][2]string{
		{"VERSIONS", strconv.Itoa(max(1, f.Versions))}, {"BLOOMFILTER", f.Bloom}, {"DATA_BLOCK_ENCODING", f.Encoding}, {"COMPRESSION", f.Compression},
	}
	if f.Block > 0 {
		a = append(a, [2]string{"BLOCKSIZE", strconv.Itoa(f.Block)})
	}
	if f.TTL > 0 {
		a = append(a, [2]string{"TTL", strconv.FormatInt(int64(f.TTL/time.Second), 10)})
	}
	return a
}

// String returns the family as HBase's shell shows it.
func (f Family) String() string {
	var text strings.Builder
	text.WriteString(f.Name)
	for _, a := range f.attributes() {
		text.WriteString(", " + a[0] + " " + a[1])
	}
	return text.String()
}

// DDL prints the tables as commands of the HBase shell. Only the cluster knows which compressions
// it has: with "auto" the tables are not compressed, and a comment explains that.
func DDL(specs []TableSpec) string {
	var out strings.Builder
	if specs[0].Families[0].Compression == CompressionAuto {
		out.WriteString("# not compressed: name what the region servers have, best ZSTD or LZ4\n")
		specs = compressedWith("NONE", specs)
	}
	for _, t := range specs {
		fmt.Fprintf(&out, "create '%s'", t.Name)
		for _, f := range t.Families {
			fmt.Fprintf(&out, ", {NAME => '%s'", f.Name)
			for _, a := range f.attributes() {
				value := "'" + a[1] + "'"
				if a[0] == "VERSIONS" || a[0] == "TTL" || a[0] == "BLOCKSIZE" {
					value = a[1]
				}
				fmt.Fprintf(&out, ", %s => %s", a[0], value)
			}
			out.WriteByte('}')
		}
		for i, key := range t.Splits {
			if i == 0 {
				out.WriteString(", SPLITS => [")
			} else {
				out.WriteString(", ")
			}
			out.WriteString(rubyString(key))
		}
		if len(t.Splits) > 0 {
			out.WriteByte(']')
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// rubyString writes bytes as the shell reads them.
func rubyString(b []byte) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range b {
		fmt.Fprintf(&out, `\x%02X`, c)
	}
	out.WriteByte('"')
	return out.String()
}
