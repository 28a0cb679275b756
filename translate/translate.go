// Package translate turns label sets into OpenTSDB metrics and tags and back, and into Graphite
// names and back. All directions are exact inverses: no label set is refused, whatever its
// characters, its number of labels or their length, and no two of them are stored as the same
// series or have the same Graphite name.
//
// It never touches a store, never remembers a name, and never validates one. Invalid UTF-8, an
// empty label name or a missing metric name are errors of other rooms; here they are kept.
//
// How names are stored, E and L being the escapes of escape.go:
//
//	metric          L of each element between dots, ":" being _3A,    sys.cpu, odd._-100_25, _-node_3Aload1
//	                or E(name) under a rule of Compat
//	no metric name  _-
//	label value     L(value), or E(value) in a Compat series          localhost:9090 is _-localhost_.9090
//	label name      itself where OpenTSDB allows it, else -E(name)    job, -http_.method
//	no labels       the one tag -_=1 (OpenTSDB's fsck stops at a row without tags)
//	too many or     the tags -_p0, -_p1, ... hold the labels that a row key or a UID name cannot;
//	too long        a metric name among them leaves the metric _-_/
//
// E never yields "_-" or "_/", nor "_" followed by a lower-case letter or by nothing, so none of
// the reserved names is the name of anything else.
//
// The Graphite name of {__name__="a.b"} is a.b, that of {__name__="m", k="v"} is m;k=v, and what
// cannot be said so begins with "~" (see LabelsPath).
//
// Series that others wrote (a TSD's, with any name it allows) are shown too, without losing a tag.
// They are the one case in which two stored series may show as the same labels: the stored value
// "_-a_.b" shows as "a:b", and so does a foreign "a:b".
package translate

import "fmt"

// A Translator translates under a list of rules. It is safe for concurrent use.
type Translator struct {
	modes modes

	limits limits
}

// limits say when a label is packed. They are part of the stored form: another limit would store
// the same label set as another series. Only tests have their own.
type limits struct {
	tags   int // tags that stand for one label each
	length int // characters of a metric, tag key, tag value
}

// storedLimits leave room for what surrounds a name. A row key holds storage.MaxTags tags, of which
// the packed ones must have their share. A UID name is a row key of at most 32767 bytes, and
// HBase's clients look up its region with a key of its own that adds the table's name and
// separators.
var storedLimits = limits{tags: 1000, length: 32000}

// New returns a Translator. The first rule that matches a metric name decides its mode; a name
// without one is Literal.
func New(rules ...Rule) (*Translator, error) {
	t := &Translator{limits: storedLimits}
	for i, r := range rules {
		compiled, err := r.compile()
		if err != nil {
			return nil, fmt.Errorf("translate: rule %d: %w", i+1, err)
		}
		t.modes.rules = append(t.modes.rules, compiled)
		t.modes.compat = t.modes.compat || r.Mode == Compat
	}
	return t, nil
}

// Uniform reports that no rule is Compat. A tag value then means the same under every metric, so
// that lists of values need not look at series.
func (t *Translator) Uniform() bool { return !t.modes.compat }

// MetricName returns the metric that series of this name are stored under. Names longer than a UID
// name may be share one metric, whose FromMetric is "": there is no place for anything that belongs
// to one of them.
func (t *Translator) MetricName(name string) string {
	stored, _ := t.metric(name)
	return stored
}

// FromMetric returns the metric name of a stored metric, "" if it holds none.
func (t *Translator) FromMetric(stored string) string {
	if stored == longMetric {
		return ""
	}
	name, _ := t.name(stored)
	return name
}

// TagKey returns the key of the tags that hold a label's values, PackedKey if they can only be
// packed.
func (t *Translator) TagKey(label string) string {
	if key := tagKey(label); key != "" && len(key) <= t.limits.length {
		return key
	}
	return PackedKey
}

// Label returns the label name that a tag key shows as when its series has no other tag of that
// name; false for reserved keys. Names of packed labels are in no key: series with a tag PackedKey
// have to be looked at.
func (t *Translator) Label(key string) (name string, ok bool) {
	if reserved(key) {
		return "", false
	}
	name, own := labelName(key)
	if !own && !showable(name) {
		name = clashPrefix + name
	}
	return name, true
}

// LabelValue returns the label value of a stored tag value, provided the translator is Uniform.
// Values of packed labels are in no tag of their own: series with a tag PackedKey have to be looked
// at.
func (t *Translator) LabelValue(stored string) string { return Literal.labelValue(stored) }
