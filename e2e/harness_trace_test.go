package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// A traced is what a thread of Chromium did, in microseconds.
type traced struct {
	Name string  `json:"name"`
	Kind string  `json:"ph"` // X: with a duration, M: names a thread
	PID  int     `json:"pid"`
	TID  int     `json:"tid"`
	From float64 `json:"ts"`
	Dur  float64 `json:"dur"`
	// CPU is what of Dur the thread had a core: other work on the machine does not count.
	CPU  float64 `json:"tdur"`
	Args struct {
		Name string `json:"name"`
	} `json:"args"`
}

// trace has Chromium record what its threads do while do runs.
func (b *browser) trace(t *testing.T, do func()) []traced {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	ended := chromedp.Events(ctx, tracing.TracingComplete)
	if _, err := chromedp.Call(ctx, tracing.Start, tracing.StartParams{
		TransferMode: tracing.StartTransferModeReturnAsStream,
		TraceConfig:  &tracing.TraceConfig{IncludedCategories: []string{"devtools.timeline", "disabled-by-default-devtools.timeline"}},
	}); err != nil {
		t.Fatal(err)
	}
	do()
	if _, err := chromedp.Call(ctx, tracing.End, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	for e, err := range ended {
		if err != nil {
			t.Fatal(err)
		}
		return readTrace(ctx, t, e.Stream)
	}
	t.Fatal("the trace does not end")
	return nil
}

func readTrace(ctx context.Context, t *testing.T, from io.StreamHandle) []traced {
	t.Helper()
	var text bytes.Buffer
	for {
		part, err := chromedp.Call(ctx, io.Read, io.ReadParams{Handle: from})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(part.Data)
		if part.EOF {
			break
		}
	}
	var all struct {
		Events []traced `json:"traceEvents"`
	}
	if err := json.Unmarshal(text.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	return all.Events
}

// A frameWork is the CPU time that the page's main thread takes, in milliseconds.
type frameWork struct {
	frame float64 // most from one frame to the next
	task  float64 // most in one task, in which nothing else happens on the page
}

// mostWork returns the longest frame and the longest task. A frame ends with the handing over of what is drawn.
func mostWork(t *testing.T, all []traced) (most frameWork) {
	t.Helper()
	type thread struct{ pid, tid int }
	main := map[thread]bool{}
	for _, e := range all {
		if e.Kind == "M" && e.Args.Name == "CrRendererMain" {
			main[thread{e.PID, e.TID}] = true
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(e traced) bool { return !main[thread{e.PID, e.TID}] })
	slices.SortStableFunc(all, func(a, b traced) int { return cmp.Compare(a.From, b.From) })
	frames, now := 0, 0.0
	for _, e := range all {
		switch e.Name {
		case "Commit": // in the last task of a frame
			frames++
			now = 0
		case "RunTask":
			now += e.CPU / 1000
			most.frame, most.task = max(most.frame, now), max(most.task, e.CPU/1000)
		}
	}
	if frames < 10 || most.task == 0 {
		t.Fatalf("the trace has %d frames, and tasks of %.1f ms: Chromium records them in another way", frames, most.task)
	}
	return most
}
