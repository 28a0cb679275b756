package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"
)

// A report collects the results.
type report struct {
	options
	programs *programs
	began    time.Time
	load     string // of the machine before the run
	lines    []line
	details  []grid
	notes    []string
	others   map[string]string // versions of peers that are not among the programs, by name
}

func newReport(o options, p *programs) *report {
	return &report{options: o, programs: p, began: time.Now(), load: loadAverage(), others: map[string]string{}}
}

// scaled returns n, or a tenth of it with -quick.
func (r *report) scaled(n int) int {
	if r.quick {
		return n / 10
	}
	return n
}

// log reports progress.
func (r *report) log(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// save writes the results so far to the file of -out.
func (r *report) save() error {
	if r.out == "" {
		return nil
	}
	var text bytes.Buffer
	r.writeTo(&text)
	return os.WriteFile(r.out, text.Bytes(), 0o644)
}

func (r *report) writeTo(w io.Writer) {
	fmt.Fprintf(w, "# tsdbridge compared with its peers\n\n")
	fmt.Fprintf(w, "%s, %d cores in use (GOMAXPROCS), %s, %s. Load average before the start: %s.\n",
		machine(), runtime.GOMAXPROCS(0), runtime.Version(), r.began.Format(time.DateOnly), r.load)
	fmt.Fprintf(w, "Medians of %d runs; servers take turns and begin empty; load generator and server share the cores, so CPU seconds per million\n"+
		"samples carry over to other machines and samples per second do not. They count what follows until the server is quiet, and its end.\n", r.runs)
	if r.quick {
		fmt.Fprintf(w, "**Quick: a tenth of the data. No figure to quote.**\n")
	}
	fmt.Fprintln(w)
	for _, p := range []program{r.programs.ours, r.programs.victoria, r.programs.prometheus} {
		if p.name != "" {
			fmt.Fprintf(w, "- %s: %s\n", p.name, p.version)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.others)) {
		fmt.Fprintf(w, "- %s: %s\n", name, r.others[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.programs.missing)) {
		fmt.Fprintf(w, "- %s is missing: %v\n", name, r.programs.missing[name])
	}
	fmt.Fprintln(w)
	if len(r.lines) > 0 {
		bars(r.lines).writeTo(w)
	}
	for _, g := range r.details {
		g.writeTo(w)
	}
	if len(r.notes) > 0 {
		fmt.Fprintf(w, "\n## Remarks\n\n")
		for _, n := range r.notes {
			fmt.Fprintf(w, "- %s\n", n)
		}
	}
}
