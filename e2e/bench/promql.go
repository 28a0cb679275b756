package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// element is one series of an instant vector.
type element struct {
	labels map[string]string
	value  float64
}

// instant evaluates an expression at a time.
func (s *server) instant(ctx context.Context, expr string, at time.Time) ([]element, error) {
	body, err := s.get(ctx, "/api/v1/query", url.Values{"query": {expr}, "time": {seconds(at)}, "nocache": {"1"}})
	if err != nil {
		return nil, err
	}
	return parseVector(body)
}

// seconds returns a time as the query API takes it.
func seconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64)
}

func parseVector(body []byte) ([]element, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("answer %.100q: %w", body, err)
	}
	var all []element
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, element{r.Metric, v})
	}
	return all, nil
}
