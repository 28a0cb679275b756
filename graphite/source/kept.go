package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// KeptKey is the key in the custom map of TSMeta documents under which a series has its Kept.
const KeptKey = "whisper"

// Kept is what a series has of a whisper file: its archives, and how they are made.
type Kept struct {
	Archives    []conf.Archive
	Aggregation conf.Aggregation
	// Until is the end of the time that the file knows of, in seconds: slots before it are as the file had
	// them.
	Until int64
	// Steps are those of the coarser archives whose slots are in the store.
	Steps []int64
}

// String writes it as ParseKept reads it.
func (k *Kept) String() string {
	steps := make([]string, len(k.Steps))
	for i, s := range k.Steps {
		steps[i] = strconv.FormatInt(s, 10)
	}
	return fmt.Sprintf("retentions=%s method=%s xff=%s until=%d steps=%s", conf.FormatRetentions(k.Archives), k.Aggregation.Method,
		strconv.FormatFloat(k.Aggregation.XFF, 'g', -1, 32), k.Until, strings.Join(steps, ","))
}

// maxKept bounds the text of a Kept, in bytes.
const maxKept = 4 << 10

// ParseKept reads a Kept.
func ParseKept(text string) (*Kept, error) {
	if len(text) > maxKept {
		return nil, fmt.Errorf("archives: %d bytes", len(text))
	}
	of := map[string]string{}
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		of[key] = value
	}
	k := &Kept{}
	var err error
	if k.Archives, err = conf.ParseRetentions(of["retentions"]); err != nil {
		return nil, err
	}
	if k.Aggregation, err = conf.NewAggregation(of["method"], of["xff"]); err != nil {
		return nil, err
	}
	if k.Until, err = strconv.ParseInt(of["until"], 10, 64); err != nil || k.Until < 0 || k.Until > farthest {
		return nil, fmt.Errorf("archives: until=%s is no time", of["until"])
	}
	for step := range strings.SplitSeq(of["steps"], ",") {
		if step == "" {
			continue
		}
		n, err := strconv.ParseInt(step, 10, 64)
		if err != nil || !slices.ContainsFunc(k.Archives[1:], func(a conf.Archive) bool { return a.Step == n }) {
			return nil, fmt.Errorf("archives: no coarser archive has the step %q", step)
		}
		k.Steps = append(k.Steps, n)
	}
	return k, nil
}

// ListArchive returns the text of a Kept with the archive of a step (seconds) among those whose slots are in
// the store; the same text if it is. An error means that the series has no coarser archive of that step.
func ListArchive(text string, step uint32) (string, error) {
	k, err := ParseKept(text)
	if err != nil {
		return text, fmt.Errorf("the document of the series has no archives: %w", err)
	}
	if slices.Contains(k.Steps, int64(step)) {
		return text, nil
	}
	if !slices.ContainsFunc(k.Archives[1:], func(a conf.Archive) bool { return a.Step == int64(step) }) {
		return text, fmt.Errorf("the series has no coarser archive of %d s", step)
	}
	k.Steps = slices.Sorted(slices.Values(append(k.Steps, int64(step))))
	return k.String(), nil
}

// With returns what a series has that has one file's archives already, and gets another's.
func (k *Kept) With(old *Kept) *Kept {
	if old == nil || !slices.Equal(k.Archives, old.Archives) {
		return k
	}
	joined := *k
	joined.Until = max(k.Until, old.Until)
	joined.Steps = slices.Compact(slices.Sorted(slices.Values(slices.Concat(k.Steps, old.Steps))))
	return &joined
}
