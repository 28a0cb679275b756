package appendable

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
)

func (a *Appendable) check(ls labels.Labels, size int) error {
	return CheckLabels(ls, size, a.o.SeriesBytes)
}

// CheckLabels refuses labels that remote write refuses too: those without a metric name, with an
// empty or repeated name, with bytes that are not UTF-8, and those of more bytes than limit.
func CheckLabels(ls labels.Labels, size, limit int) error {
	if size > limit {
		return fmt.Errorf("labels of more than %d bytes", limit)
	}
	if err := checkNames(ls); err != nil {
		return err
	}
	if ls.Get(model.MetricNameLabel) == "" {
		return errors.New("no metric name")
	}
	return nil
}

func checkNames(ls labels.Labels) error {
	if name, twice := ls.HasDuplicateLabelNames(); twice {
		return fmt.Errorf("label %q occurs twice", name)
	}
	return ls.Validate(func(l labels.Label) error {
		switch {
		case l.Name == "":
			return errors.New("empty label name")
		case !model.UTF8Validation.IsValidLabelName(l.Name):
			return fmt.Errorf("label name %q is not UTF-8", l.Name)
		case !utf8.ValidString(l.Value):
			return fmt.Errorf("value of label %q is not UTF-8", l.Name)
		}
		return nil
	})
}

// CheckExemplar checks the labels of an exemplar by the rules of OpenMetrics; it may have none.
func CheckExemplar(ls labels.Labels) error {
	if err := checkNames(ls); err != nil {
		return err
	}
	size := 0
	ls.Range(func(l labels.Label) { size += utf8.RuneCountInString(l.Name) + utf8.RuneCountInString(l.Value) })
	if size > exemplar.ExemplarMaxLabelSetLength {
		return fmt.Errorf("labels of more than %d characters", exemplar.ExemplarMaxLabelSetLength)
	}
	return nil
}

// maxCulprits is how many refused series an error names.
const maxCulprits = 5

// A RefusedError tells which series of a transaction can never be stored. The rest is durable.
type RefusedError struct {
	Series   int      `json:"series"`
	Samples  int      `json:"samples"`
	Culprits []string `json:"culprits"` // some of the series, each with the reason
	first    error
}

func (e *RefusedError) add(ls labels.Labels, err error, samples int) {
	e.Series++
	e.Samples += samples
	if len(e.Culprits) < maxCulprits {
		e.Culprits = append(e.Culprits, shorten(ls.String())+": "+err.Error())
	}
	if e.first == nil {
		e.first = err
	}
}

// shownBytes is how much of a series is in an error.
const shownBytes = 256

func shorten(s string) string {
	if len(s) <= shownBytes {
		return s
	}
	return strings.ToValidUTF8(s[:shownBytes], "") + "..."
}

func (e *RefusedError) orNil() error {
	if e.Series == 0 {
		return nil
	}
	return e
}

// Error names some of the series.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("refused %d series with %d samples: %s", e.Series, e.Samples, strings.Join(e.Culprits, "; "))
	if more := e.Series - len(e.Culprits); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Unwrap returns why the first series was refused.
func (e *RefusedError) Unwrap() error { return e.first }
