package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// NameKind is what a name is of. Each kind has UIDs of its own.
type NameKind int

// The kinds of names.
const (
	MetricName NameKind = iota
	TagKeyName
	TagValueName
)

// NameKinds lists them.
func NameKinds() [3]NameKind { return [...]NameKind{MetricName, TagKeyName, TagValueName} }

// String returns the kind's name in flags and texts.
func (k NameKind) String() string {
	switch k {
	case MetricName:
		return "metric"
	case TagKeyName:
		return "tagk"
	case TagValueName:
		return "tagv"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Plural returns the kind's name in the texts of OpenTSDB: plural for metrics alone.
func (k NameKind) Plural() string {
	if k == MetricName {
		return "metrics"
	}
	return k.String()
}

// ParseNameKind reads the name of a kind in requests and documents, in any case.
func ParseNameKind(name string) (NameKind, error) {
	switch strings.ToLower(name) {
	case "metric", "metrics":
		return MetricName, nil
	case "tagk":
		return TagKeyName, nil
	case "tagv":
		return TagValueName, nil
	}
	return 0, fmt.Errorf("Invalid type requested: %s", name) //nolint:staticcheck // a TSD's words
}

// A UIDCheck chooses what a check of UIDs mends.
type UIDCheck struct {
	// Fix mends what can be mended, DeleteUnknown also deletes columns that are none of OpenTSDB's.
	Fix, DeleteUnknown bool
	// Used returns those of some UIDs that series have. It may take long.
	Used func(ctx context.Context, suspects []Mapping) (map[string]bool, error) // by Mapping.Key
	// Print gets a line for each finding and for each mend.
	Print func(line string)
	Now   func() time.Time
}

// Key tells UIDs of all kinds apart.
func (m Mapping) Key() string { return m.Kind.String() + string(m.UID) }

// A UIDReport is what a check of UIDs found.
type UIDReport struct {
	Cells    int `json:"cells"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"` // what harms nobody
	Mended   int `json:"mended"`   // of both
}

// A Mapping is a name with its UID.
type Mapping struct {
	Kind NameKind
	Name string
	UID  []byte
}

// String is a TSD's line of a mapping.
func (m Mapping) String() string {
	return fmt.Sprintf("%s %s: %s", m.Kind.Plural(), m.Name, JavaBytes(m.UID))
}

// JavaBytes returns bytes as a TSD prints them, which has signed ones: [0, 0, -1].
func JavaBytes(b []byte) string {
	texts := make([]string, len(b))
	for i, c := range b {
		texts[i] = strconv.Itoa(int(int8(c)))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
