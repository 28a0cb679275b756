package opentsdb

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/tree/javaregexp"
)

// limits are how many points queries may read, by metric: those of a file such as a TSD's
// tsd.query.limits.overrides.config, and one for all others.
type limits struct {
	path   string
	others int // 0: no limit
	logger *slog.Logger
	now    func() time.Time

	mu       sync.Mutex
	read     time.Time // when the file was looked at
	modified time.Time // the state of the file that list is of
	list     []limit
}

// limit is one of metrics that match a regular expression of Java.
type limit struct {
	pattern *javaregexp.Regexp
	points  int
}

// limitsEvery is how often the file is looked at.
const limitsEvery = time.Minute

// mostLimits bounds the list, which each query passes through.
const mostLimits = 1000

// CheckFiles reads the files that the options name.
func (o Options) CheckFiles() error {
	o.Now = time.Now
	_, err := newLimits(&o)
	return err
}

// newLimits reads the file, if there is one.
func newLimits(o *Options) (*limits, error) {
	l := &limits{path: o.LimitsFile, others: o.MaxPoints, logger: o.Logger, now: o.Now, read: o.Now()}
	if l.path == "" {
		return l, nil
	}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("--opentsdb.limits=%s: %w", l.path, err)
	}
	return l, nil
}

// of returns the limit of a metric; 0: none. A file that has changed is read again; one that cannot be read
// leaves the limits as they are.
func (l *limits) of(metric string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); l.path != "" && now.Sub(l.read) >= limitsEvery {
		l.read = now
		if err := l.load(); err != nil {
			l.logger.Error("the limits of queries cannot be read, those from before hold; correct the file", "file", l.path, "err", err)
		}
	}
	for _, item := range l.list {
		if item.pattern.MatchLinear(metric) {
			return item.points
		}
	}
	return l.others
}

// load reads the file if it has changed.
func (l *limits) load() error {
	info, err := os.Stat(l.path)
	if err != nil {
		return err
	}
	if info.ModTime().Equal(l.modified) {
		return nil
	}
	text, err := fsutil.ReadRegular(l.path)
	if err != nil {
		return err
	}
	list, err := parseLimits(text)
	if err != nil {
		return err
	}
	l.list, l.modified = list, info.ModTime()
	return nil
}

// parseLimits reads a list of {"regex", "dataPointsLimit", "byteLimit"}. Bytes have no meaning here.
func parseLimits(text []byte) ([]limit, error) {
	var items []struct {
		Regex           string
		DataPointsLimit int
	}
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, err
	}
	if len(items) > mostLimits {
		return nil, fmt.Errorf("%d limits, at most %d are read", len(items), mostLimits)
	}
	var list []limit
	for i, item := range items {
		pattern, err := javaregexp.Compile(item.Regex)
		if err == nil {
			err = pattern.Linear()
		}
		switch {
		case item.Regex == "":
			return nil, fmt.Errorf("limit %d has no regex", i+1)
		case err != nil:
			return nil, fmt.Errorf("limit %d: %q: %w", i+1, item.Regex, err)
		case item.DataPointsLimit < 0:
			return nil, fmt.Errorf("limit %d: %q: dataPointsLimit is negative", i+1, item.Regex)
		}
		list = append(list, limit{pattern, item.DataPointsLimit})
	}
	return list, nil
}
