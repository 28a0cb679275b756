package flagvalue

import (
	"fmt"
	"strconv"
	"strings"
)

// A Size is a flag value for a number of bytes: 4096, 64KiB, 32MiB, 2GiB, or with KB, MB, GB.
type Size int64

// An IntSize is the same for fields of type int.
type IntSize int

var byteUnits = []struct { //nolint:gochecknoglobals // a table
	name string
	size int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
}

// ParseSize reads a number of bytes.
func ParseSize(s string) (int64, error) {
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.size {
			break
		}
		return n * u.size, nil
	}
	return 0, fmt.Errorf("%q is no size: want a number with B, KB, MB, GB, KiB, MiB, GiB or nothing after it", s)
}

// SizeText returns the shortest exact form of n.
func SizeText(n int64) string {
	for _, u := range []int{2, 1, 0} {
		if unit := byteUnits[u]; n > 0 && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Set implements kingpin.Value.
func (b *Size) Set(s string) error {
	n, err := ParseSize(s)
	*b = Size(n)
	return err
}

// String implements kingpin.Value.
func (b *Size) String() string { return SizeText(int64(*b)) }

// Set implements kingpin.Value.
func (b *IntSize) Set(s string) error {
	n, err := ParseSize(s)
	*b = IntSize(n)
	return err
}

// String implements kingpin.Value.
func (b *IntSize) String() string { return SizeText(int64(*b)) }
