package singleflight_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
)

// TestEncode: a body takes the place of what it was made of. Without memory for it, or after the end of its context,
// there is none.
func TestEncode(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		limit int64
		want  string
		held  int64
		err   error
	}{
		{t.Context(), 1000, "one and two", 11, nil},
		{t.Context(), 105, "", 100, nil},
		{ended, 1000, "", 100, context.Canceled},
	} {
		account := query.NewBudget(c.limit).Open()
		if err := account.Take(100); err != nil {
			t.Fatal(err)
		}
		body, err := singleflight.Encode(query.WithAccount(c.ctx, account), func(w io.Writer) {
			_, _ = io.WriteString(w, "one ")
			_, _ = io.WriteString(w, "and two")
		})
		if !errors.Is(err, c.err) || account.Held() != c.held || (body == nil) != (c.want == "") {
			t.Errorf("%+v: %v, %v, %d bytes are held", c, body, err, account.Held())
		}
		if body == nil {
			continue
		}
		for range 2 {
			var out bytes.Buffer
			if n, err := body.WriteTo(&out); out.String() != c.want || n != int64(len(c.want)) || err != nil {
				t.Errorf("%q, %d, %v", out.String(), n, err)
			}
		}
		reader, writer := io.Pipe()
		_ = reader.Close()
		if n, err := body.WriteTo(writer); n != 0 || err == nil {
			t.Errorf("%d bytes were written to who is gone, %v", n, err)
		}
	}
}
