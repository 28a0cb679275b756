package schema

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Layout holds the widths of the parts of a row key in bytes. Nothing in the tables records them:
// they must be equal in every process that touches the tables. A wrong width makes garbage, a wrong
// salt makes empty results.
type Layout struct {
	MetricWidth, TagkWidth, TagvWidth int // 1 to 8; tsd.storage.uid.width.*
	SaltWidth                         int // 0 (no salt) to 8; tsd.storage.salt.width
	// at least 1, ignored without a salt; tsd.storage.salt.buckets
	SaltBuckets int
}

// baseWidth is the width of the base time in a row key.
const baseWidth = 4

// DefaultLayout returns the layout of an OpenTSDB that was not configured otherwise.
func DefaultLayout() Layout {
	return Layout{MetricWidth: 3, TagkWidth: 3, TagvWidth: 3, SaltWidth: 0, SaltBuckets: 20}
}

// Validate returns an error that names the flag of a width that is out of its range.
func (l Layout) Validate() error {
	for _, k := range storage.NameKinds() {
		if w := l.Width(k); w < 1 || w > 8 {
			return fmt.Errorf("--storage.uid-width.%s=%d: want 1 to 8 bytes", k, w)
		}
	}
	if l.SaltWidth < 0 || l.SaltWidth > 8 {
		return fmt.Errorf("--storage.salt.width=%d: want 0 to 8 bytes", l.SaltWidth)
	}
	if l.SaltBuckets < 1 || l.SaltBuckets > maxBuckets {
		return fmt.Errorf("--storage.salt.buckets=%d: want 1 to %d", l.SaltBuckets, maxBuckets)
	}
	// OpenTSDB truncates a bucket that its salt cannot hold; two buckets would then share their
	// rows.
	if w := l.SaltWidth; w > 0 && w < 4 && l.SaltBuckets > 1<<(8*w) {
		return fmt.Errorf("--storage.salt.buckets=%d: a salt of %d bytes holds %d", l.SaltBuckets, w, 1<<(8*w))
	}
	return nil
}

// Width returns the width of a UID in bytes.
func (l Layout) Width(k storage.NameKind) int {
	switch k {
	case storage.MetricName:
		return l.MetricWidth
	case storage.TagKeyName:
		return l.TagkWidth
	default:
		return l.TagvWidth
	}
}

// PairWidth returns the width of a tag in a row key: its key's UID and its value's.
func (l Layout) PairWidth() int { return l.TagkWidth + l.TagvWidth }

// PrefixWidth returns the number of bytes of a data row key before its first tag: salt, metric and
// base time.
func (l Layout) PrefixWidth() int { return l.SaltWidth + l.MetricWidth + baseWidth }

// SameRows reports whether both layouts give equal row keys and UIDs: the number of buckets counts
// only with a salt.
func (l Layout) SameRows(other Layout) bool {
	if l.SaltWidth == 0 {
		l.SaltBuckets = other.SaltBuckets
	}
	return l == other
}
