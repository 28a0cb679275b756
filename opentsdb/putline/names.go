package putline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/storage"
)

// NameRules are what names of series may be: how many tags there may be, and which characters are allowed
// in addition to a TSD's.
type NameRules struct {
	MaxTags      int
	SpecialChars string
}

// CheckSpecialChars returns why characters cannot be allowed in names: what a line is split at, and what the
// tables have no byte for.
func CheckSpecialChars(special string) error {
	for _, c := range special {
		if c <= ' ' || c > 0xff || c >= 0x7f && c <= 0xa0 || c == '=' {
			return fmt.Errorf("--opentsdb.allow-special-chars: %q: want printable characters of Latin-1 without blanks and =", c)
		}
	}
	return nil
}

// CheckNames is OpenTSDB's IncomingDataPoints.checkMetricAndTags, with its texts and the order of
// its checks.
func CheckNames(metric string, tags []storage.Tag, rules NameRules) error {
	switch {
	case len(tags) == 0:
		return ArgumentError(fmt.Sprintf("Need at least one tag (metric=%s, tags={})", metric))
	case len(tags) > rules.MaxTags:
		return ArgumentError(fmt.Sprintf("Too many tags: %d maximum allowed: %d, tags: %s", len(tags), rules.MaxTags, TagsText(tags)))
	}
	if err := rules.check("metric name", metric); err != nil {
		return err
	}
	for _, tag := range java.InMapOrderBy(tags, tagKey, java.DefaultCapacity) {
		if err := rules.check("tag name with value ["+tag.Value+"]", tag.Key); err != nil {
			return err
		}
		if err := rules.check("tag value with key ["+tag.Key+"]", tag.Value); err != nil {
			return err
		}
	}
	return nil
}

// check is httpapi.CheckName.
func (r NameRules) check(what, name string) error {
	if err := httpapi.CheckName(what, name, r.SpecialChars); err != nil {
		return ArgumentError(err.Error())
	}
	return nil
}

// Series returns the series of names that were checked.
func Series(metric string, tags []storage.Tag) storage.Series {
	sorted := slices.Clone(tags)
	slices.SortFunc(sorted, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
	return storage.Series{Metric: metric, Tags: sorted}
}

// TagsText returns what Java's HashMap.toString makes of tags.
func TagsText(tags []storage.Tag) string {
	var b strings.Builder
	for i, tag := range java.InMapOrderBy(tags, tagKey, java.DefaultCapacity) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(tag.Key + "=" + tag.Value)
	}
	return "{" + b.String() + "}"
}

func tagKey(t storage.Tag) string { return t.Key }
