package compare

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// A Summary counts what became of requests.
type Summary struct {
	Requests, Equal, Refused int // Refused: by both in the same way, which is equal too
	Different, Failed        int
	Skipped                  int // lines without a request, or with one that is not asked
	Series, Points           int // that were compared
}

// String prints it for people.
func (s Summary) String() string {
	text := fmt.Sprintf("%d requests: %d equal", s.Requests, s.Equal)
	if s.Refused > 0 {
		text += fmt.Sprintf(" (%d refused by both)", s.Refused)
	}
	text += fmt.Sprintf(", %d different, %d could not be asked; %d series and %d instants compared", s.Different, s.Failed, s.Series, s.Points)
	if s.Skipped > 0 {
		text += fmt.Sprintf("; %d lines skipped", s.Skipped)
	}
	return text
}

// maxLine bounds a line of a file of requests.
const maxLine = 4 << 20

// A Run compares requests, and prints what differs.
type Run struct {
	Options
	Times Times
	Out   io.Writer // differences
	Err   io.Writer // requests that could not be asked, lines that were skipped
	Summary
}

// Lines compares the requests in lines of text.
func (r *Run) Lines(ctx context.Context, text io.Reader) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; lines.Scan(); n++ {
		request, err := ParseLine(lines.Text(), r.Times)
		switch {
		case errors.Is(err, ErrOther):
			r.Skipped++
			continue
		case err != nil:
			r.Skipped++
			fmt.Fprintf(r.Err, "line %d is skipped: %v\n", n, err)
			continue
		}
		if err := r.one(ctx, request); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Sample compares so many random requests.
func (r *Run) Sample(ctx context.Context, s *Sampler, n int) error {
	for range n {
		request, err := s.Next(ctx)
		if err != nil {
			return err
		}
		if err := r.one(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// one compares a request. Its error is that of ctx.
func (r *Run) one(ctx context.Context, request Request) error {
	res, err := Compare(ctx, r.Options, request)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Requests++
	if err != nil {
		r.Failed++
		fmt.Fprintf(r.Err, "%s\n  could not be asked: %v\n", request, err)
		return nil
	}
	r.Series += res.Series
	r.Points += res.Points
	if res.Differences == 0 {
		r.Equal++
		if res.Refused {
			r.Refused++
		}
		return nil
	}
	r.Different++
	fmt.Fprintln(r.Out, request)
	for _, line := range res.Shown {
		fmt.Fprintln(r.Out, line)
	}
	return nil
}
