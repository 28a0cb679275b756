package writelimits

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// status returns the status of an error.
func status(err error) int {
	own := httpapi.Error{}
	if !errors.As(err, &own) {
		return 0
	}
	return own.Status
}

// A request is asked to come again for what others hold, and refused for what it can never have.
func TestNeed(t *testing.T) {
	in := New(Options{Requests: 1, InFlightBytes: 100})
	one, other := in.Share(), in.Share()
	if err := one.Need(40); err != nil {
		t.Fatal(err)
	}
	if err := other.Need(70); !errors.Is(err, ErrBusy) {
		t.Errorf("beside another one: %v", err)
	}
	if err := other.Need(30); err != nil {
		t.Error(err)
	}
	if err := other.Need(71); status(err) != http.StatusRequestEntityTooLarge {
		t.Errorf("more than all: %v", err)
	}
	one.Release()
	other.Release()
	if n := in.Gate().Bytes(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

func TestEnter(t *testing.T) {
	in := New(Options{Requests: 1, InFlightBytes: 100, Timeout: time.Minute})
	for _, decoded := range []int{1, largeRequest + 1} {
		_, leave, err := in.Enter(t.Context(), decoded)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := in.Enter(t.Context(), 1); !errors.Is(err, ErrBusy) {
			t.Errorf("a second request: %v", err)
		}
		leave()
	}
}

func TestBodies(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Requests: 1, InFlightBytes: 1 << 20}).Share()
	receive := func(body []byte, claimed int64, limit int) error {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.ContentLength = claimed
		got, err := s.Receive(nil, httptest.NewRecorder(), r, limit)
		if err == nil && !bytes.Equal(got, body) {
			t.Errorf("received %q of %q", got, body)
		}
		return err
	}
	unpack := func(body []byte, limit int) error {
		got, err := s.Unpack(nil, bytes.NewReader(body), netserver.Gzipped, limit)
		if err == nil && len(got) != 1000 {
			t.Errorf("unpacked %d bytes", len(got))
		}
		return err
	}
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"a body":                   {receive([]byte("abc"), 3, 3), 0},
		"a body of unknown length": {receive([]byte("abc"), -1, 3), 0},
		"a long body":              {receive([]byte("abcd"), -1, 3), http.StatusRequestEntityTooLarge},
		"a long claim":             {receive([]byte("abc"), 4, 3), http.StatusRequestEntityTooLarge},
		"packed":                   {unpack(packed.Bytes(), 1000), 0},
		"packed, long":             {unpack(packed.Bytes(), 999), http.StatusRequestEntityTooLarge},
		"packed, cut":              {unpack(packed.Bytes()[:15], 1000), http.StatusBadRequest},
		"not packed":               {unpack([]byte("abc"), 1000), http.StatusBadRequest},
	} {
		if got := status(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %d", name, tc.err, tc.want)
		}
	}
}

// TestLateBody: a body that does not come in time is answered 408 with what to do, and its connection is closed.
func TestLateBody(t *testing.T) {
	late := iotest.ErrReader(fmt.Errorf("read: %w", os.ErrDeadlineExceeded))
	share, w := New(Options{Requests: 1, InFlightBytes: 1 << 20}).Share(), httptest.NewRecorder()
	defer share.Release()
	_, err := share.Receive(nil, w, httptest.NewRequest(http.MethodPost, "/", late), 1<<20)
	if status(err) != http.StatusRequestTimeout || !strings.Contains(err.Error(), "send less in one request") || w.Header().Get("Connection") != "close" {
		t.Errorf("%v %v", err, w.Header())
	}
}
