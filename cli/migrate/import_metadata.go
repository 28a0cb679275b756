package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

const (
	// metadataPath is where a Prometheus answers with what it knows of metrics.
	metadataPath = "/api/v1/metadata"
	// metadataBytes bounds such an answer, and metadataTime the time it takes to come.
	metadataBytes = 64 << 20
	metadataTime  = time.Minute
)

// readMetadata returns the metadata of metric families that a file or a Prometheus has; nil: nothing was asked for.
func readMetadata(ctx context.Context, from string) ([]*columns.Batch, error) {
	if from == "" {
		return nil, nil
	}
	text, err := metadataText(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("--metadata: %w", err)
	}
	all, err := parseMetadata(text)
	if err != nil {
		return nil, fmt.Errorf("--metadata: %s is no answer of %s: %w", redacted(from), metadataPath, err)
	}
	return all, nil
}

// redacted returns a file's name, or a URL without its password.
func redacted(from string) string {
	if u, err := url.Parse(from); err == nil {
		return u.Redacted()
	}
	return from
}

// metadataText reads a file, or asks a Prometheus. A URL without a path is that of the server.
func metadataText(ctx context.Context, from string) ([]byte, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fsutil.ReadRegularUpTo(from, metadataBytes)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = metadataPath
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", u.Redacted(), resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, metadataBytes+1))
	if err == nil && len(text) > metadataBytes {
		err = fmt.Errorf("%s answers with more than %d bytes", u.Redacted(), metadataBytes)
	}
	return text, err
}

// batchMetadata is how many metric families are stored at once.
const batchMetadata = 1000

// parseMetadata reads an answer. Of a metric that targets describe in several ways, the first one counts.
func parseMetadata(text []byte) (batches []*columns.Batch, err error) {
	var answer struct {
		Status string
		Error  string
		Data   map[string][]struct {
			Type       model.MetricType
			Help, Unit string
		}
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return nil, err
	case answer.Status != "success":
		return nil, fmt.Errorf("status %q, error %q", answer.Status, answer.Error)
	case answer.Data == nil:
		return nil, errors.New("it has no data")
	}
	b := &columns.Batch{}
	for name, all := range answer.Data {
		if len(all) > 0 && name != "" {
			one := metadata.Metadata{Type: known(all[0].Type), Help: all[0].Help, Unit: all[0].Unit}
			b.AddMetadata(labels.FromStrings(model.MetricNameLabel, name), one)
		}
		if len(b.Metadata) == batchMetadata {
			batches, b = append(batches, b), &columns.Batch{}
		}
	}
	if !b.Empty() {
		batches = append(batches, b)
	}
	return batches, nil
}

// storeMetadata stores metadata, and returns of how many metric families.
func storeMetadata(ctx context.Context, s *storing, batches []*columns.Batch) (families int, err error) {
	for _, b := range batches {
		if _, err := s.give(ctx, b); err != nil {
			return families, fmt.Errorf("metadata: %w", err)
		}
		families += len(b.Metadata)
	}
	return families, nil
}

// known returns a type that a metric may have.
func known(t model.MetricType) model.MetricType {
	switch t {
	case model.MetricTypeCounter, model.MetricTypeGauge, model.MetricTypeHistogram, model.MetricTypeGaugeHistogram,
		model.MetricTypeSummary, model.MetricTypeInfo, model.MetricTypeStateset:
		return t
	case model.MetricTypeUnknown:
	}
	return model.MetricTypeUnknown
}
