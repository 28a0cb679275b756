package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A scanner reads the rows of one scan, answer by answer and region after region. It numbers its
// requests, so that the server does not carry out one twice, sends none twice either, and when it
// has lost its place on a server (a lost answer, a moved or split region, an expired lease) it
// opens again after the last whole row.
type scanner struct {
	e      *Engine
	client caller
	scan   kv.Scan
	query  *pb.Scan // all but the start
	stop   []byte

	// start is where the next region scanner opens, open means that there is one: its number, the
	// number of the next request to it, the key by which its region is found and the first key
	// after that region (empty: the table's end).
	start     []byte
	open      bool
	id, seq   uint64
	key       []byte
	regionEnd []byte
	done      bool // nothing more is to be read

	// part are the cells of a row of which more may come; partKey is the row, if any. They are in
	// the memory of the answers.
	part    []cell
	partKey []byte
	last    []byte // the last whole row of an answer
}

// A viewedRow is a row in the memory of the answers that brought it.
type viewedRow struct {
	key   []byte
	cells []cell
}

// maxResultSize is how many bytes of cells the server puts into one answer.
const maxResultSize = 4 << 20

// newScanner returns nil when no row can be wanted.
func (e *Engine) newScanner(s kv.Scan) (*scanner, error) {
	start, stop := clip(s.Start), clip(s.Stop)
	switch {
	case len(s.Start) > 0 && len(start) == 0, // beyond the greatest key
		len(stop) > 0 && bytes.Compare(start, stop) >= 0,
		matchesNothing(s.Match):
		return nil, nil
	}
	query, err := newQuery(s)
	if err != nil {
		return nil, err
	}
	query.StopRow = stop
	return &scanner{e: e, client: e.reader(), scan: s, query: query, start: start, stop: stop}, nil
}

// newQuery describes what the server is to look for. When it has a Match to filter by, the
// qualifier is checked here: a filter may be shown a made-up cell with an empty row when a scan
// names columns (HBASE-27691).
func newQuery(s kv.Scan) (*pb.Scan, error) {
	column := &pb.Column{Family: []byte(s.Family)}
	columns := s.Match == nil && len(s.Qualifier) > 0
	if columns {
		column.Qualifier = [][]byte{bytes.Clone(s.Qualifier)}
	}
	query := &pb.Scan{Column: []*pb.Column{column}, TimeRange: &pb.TimeRange{}, MaxResultSize: new(uint64(maxResultSize))}
	if s.Since > 0 {
		query.TimeRange.From = new(uint64(s.Since))
	}
	if columns {
		return query, nil
	}
	filter, err := newFilter(s.Match, s.KeysOnly, len(s.Qualifier) == 0)
	query.Filter = filter
	return query, err
}

// next returns the rows of the next answer that has any; none means that the scan is over.
func (s *scanner) next(ctx context.Context) ([]viewedRow, error) {
	for !s.over() {
		rows, err := s.page(ctx)
		if err != nil || len(rows) > 0 {
			return rows, err
		}
	}
	return nil, nil
}

// over reports whether nothing is left to read. HBase must not be sent an empty range: if the start
// equals the stop, it reads that row.
func (s *scanner) over() bool {
	return s.done || !s.open && len(s.stop) > 0 && bytes.Compare(s.start, s.stop) >= 0
}

// page returns the rows of one answer. There may be none: a server whose search takes long sends
// empty answers to show that it is alive. page repeats a failed request until there was no answer
// for ScanTimeout.
func (s *scanner) page(ctx context.Context) ([]viewedRow, error) {
	defer s.e.metrics.timed(opScan)()
	limited, cancel := context.WithTimeout(ctx, s.e.o.ScanTimeout)
	defer cancel()
	limited, unwatch := s.watch(limited)
	defer unwatch()
	var pause backoff
	var reason error
	for attempt := 0; !s.over(); attempt++ {
		rows, err := s.fetch(limited)
		switch {
		case err == nil:
			return rows, nil
		case errors.Is(context.Cause(limited), errNoAnswer), errors.Is(context.Cause(limited), errDisabled):
			return nil, context.Cause(limited)
		case limited.Err() != nil && reason != nil:
			return nil, s.e.o.tooLate(s.e.o.ScanTimeout, reason)
		case limited.Err() != nil || !s.mendable(err):
			return nil, err
		}
		reason = err
		s.lose()
		if attempt == 0 {
			continue // regions move all the time
		}
		if pause.wait(limited) != nil {
			if errors.Is(context.Cause(limited), errDisabled) {
				return nil, errDisabled
			}
			return nil, s.e.o.tooLate(s.e.o.ScanTimeout, reason)
		}
	}
	return nil, nil
}

// watch ends the context with errNoAnswer when HBase is gone, or with errDisabled, so that a scan
// does not wait for all of ScanTimeout: a server may search for long without a word, but a read of
// one row must show that it is there. It is asked in time for the scan to end after Timeout.
func (s *scanner) watch(ctx context.Context) (watched context.Context, end func()) {
	watched, cancel := context.WithCancelCause(ctx)
	half := s.e.o.Timeout / 2
	looked := make(chan struct{})
	state := time.AfterFunc(min(stateAfter, half), func() {
		if s.e.states.isDisabled(watched, s.scan.Table) {
			cancel(errDisabled)
		}
	})
	timer := time.AfterFunc(half, func() {
		defer close(looked)
		for s.isServed(watched, half) {
			select {
			case <-watched.Done():
				return
			case <-time.After(half):
			}
		}
		cancel(fmt.Errorf("%w at %s within %v", errNoAnswer, s.e.o.ZooKeeper, s.e.o.Timeout))
	})
	return watched, func() {
		cancel(nil)
		state.Stop()
		if !timer.Stop() {
			<-looked
		}
	}
}

// isServed reads a row of the table and reports whether there was any answer.
func (s *scanner) isServed(ctx context.Context, limit time.Duration) bool {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	row := s.start
	if len(row) == 0 {
		row = []byte{0}
	}
	_, err := s.e.Get(ctx, s.scan.Table, s.scan.Family, [][]byte{row})
	return err == nil || ctx.Err() == nil
}

// mendable reports whether opening a scanner, or another one, may help.
func (s *scanner) mendable(err error) bool {
	if s.open && lostScanner(err) {
		s.e.metrics.resumes.Inc()
		s.e.o.Logger.Debug("scan resumed", "table", s.scan.Table, "err", err)
		return true
	}
	x, ok := exceptionIn(err)
	if !s.open && ok && x.classify() != giveUp {
		s.e.metrics.again.Inc()
		return true
	}
	return false
}

// lose forgets the region scanner and half-read rows; start is still after the last whole row.
func (s *scanner) lose() {
	s.open, s.seq = false, 0
	s.part, s.partKey = nil, nil
}

// fetch sends one request and takes its answer.
func (s *scanner) fetch(ctx context.Context) ([]viewedRow, error) {
	request := s.request(ctx)
	msg, err := send(ctx, s.client, request)
	if err != nil {
		return nil, err
	}
	response, ok := msg.(*pb.ScanResponse)
	if !ok {
		return nil, fmt.Errorf("%w: scan returned a %T", errBadAnswer, msg)
	}
	if s.open {
		s.seq++
	} else {
		s.open, s.seq, s.id = true, 0, response.GetScannerId()
		s.key, s.regionEnd = request.key, bytes.Clone(request.region.StopKey())
	}
	rows, err := s.take(response, request.block)
	if err != nil {
		return nil, err
	}
	more := response.MoreResults == nil || response.GetMoreResults()
	inRegion := response.MoreResultsInRegion == nil || response.GetMoreResultsInRegion()
	if more && inRegion {
		return rows, nil
	}
	// The server has closed the region scanner. A row never reaches into the next region.
	rows = s.finishRow(rows)
	s.advance()
	s.lose()
	s.done = !more || s.beyondStop(s.regionEnd)
	s.start = s.regionEnd
	return rows, nil
}

func (s *scanner) beyondStop(key []byte) bool {
	return len(key) == 0 || len(s.stop) > 0 && bytes.Compare(key, s.stop) >= 0
}

// request returns the next one: it opens a region scanner or asks the open one for more.
func (s *scanner) request(ctx context.Context) *scanCall {
	proto := &pb.ScanRequest{
		NumberOfRows:            new(s.rowsPerAnswer()),
		ClientHandlesPartials:   new(true),
		ClientHandlesHeartbeats: new(true),
	}
	if s.scan.RowsRead != nil {
		proto.TrackScanMetrics = new(true)
	}
	if s.open {
		proto.ScannerId, proto.NextCallSeq = new(s.id), new(s.seq)
		return newScanCall(ctx, s.scan.Table, s.key, proto, true)
	}
	proto.Scan = &pb.Scan{
		Column: s.query.Column, TimeRange: s.query.TimeRange, MaxResultSize: s.query.MaxResultSize, Filter: s.query.Filter,
		StartRow: s.start, StopRow: s.stop,
	}
	return newScanCall(ctx, s.scan.Table, s.start, proto, false)
}

// rowsPerAnswer keeps a scan with a limit from reading much more than the limit.
func (s *scanner) rowsPerAnswer() uint32 {
	switch {
	case s.scan.Limit <= 0 || s.scan.Limit > math.MaxInt32:
		return math.MaxInt32
	case s.scan.Match != nil: // some may not pass here
		return uint32(max(s.scan.Limit, 100))
	default:
		return uint32(s.scan.Limit)
	}
}

// take takes the results of an answer apart; a row may come in several parts.
func (s *scanner) take(response *pb.ScanResponse, block []byte) (rows []viewedRow, err error) {
	s.countRows(response)
	partial := response.GetPartialFlagPerResult()
	rows = make([]viewedRow, 0, len(response.GetCellsPerResult()))
	cells := make([]cell, 0, min(sum(response.GetCellsPerResult()), len(block)/minCell))
	for i, n := range response.GetCellsPerResult() {
		if n == 0 {
			continue
		}
		var result []cell
		if result, block, err = parseCells(cells[len(cells):], block, int(n)); err != nil {
			return nil, err
		}
		s.e.metrics.cellsRead.Add(float64(n))
		cells = cells[:len(cells)+len(result)] // they have the memory of all
		result = slices.Clip(result)
		if s.partKey != nil && !bytes.Equal(s.partKey, result[0].row) {
			rows = s.finishRow(rows)
		}
		if s.partKey == nil {
			s.partKey = result[0].row
		}
		if result = s.wanted(result); s.part == nil {
			s.part = result
		} else {
			s.part = append(s.part, result...)
		}
		if i >= len(partial) || !partial[i] {
			rows = s.finishRow(rows)
		}
	}
	s.advance()
	return rows, nil
}

func sum(numbers []uint32) int {
	total := 0
	for _, n := range numbers {
		total += int(n)
	}
	return total
}

// rowsScanned is the name of a count in the answer: rows that the server read, those that its
// filter left out included (ServerSideScanMetrics.COUNT_OF_ROWS_SCANNED_KEY_METRIC_NAME).
const rowsScanned = "ROWS_SCANNED"

// countRows adds to the count of the scan what the server reports.
func (s *scanner) countRows(response *pb.ScanResponse) {
	if s.scan.RowsRead == nil {
		return
	}
	for _, m := range response.GetScanMetrics().GetMetrics() {
		if m.GetName() == rowsScanned {
			s.scan.RowsRead.Add(m.GetValue())
		}
	}
}

// wanted leaves out the cells that the server could not leave out; it reuses the slice.
func (s *scanner) wanted(cells []cell) []cell {
	if s.scan.Match == nil {
		return cells
	}
	if !s.scan.Match.Matches(cells[0].row) {
		return nil
	}
	if len(s.scan.Qualifier) == 0 {
		return cells
	}
	for i := range cells {
		if bytes.Equal(cells[i].qualifier, s.scan.Qualifier) {
			return cells[i : i+1 : i+1]
		}
	}
	return nil
}

// finishRow adds the row that was being read to rows, if it has cells that are wanted.
func (s *scanner) finishRow(rows []viewedRow) []viewedRow {
	if s.partKey == nil {
		return rows
	}
	if len(s.part) > 0 {
		rows = append(rows, viewedRow{s.partKey, s.part})
	}
	s.last = s.partKey
	s.part, s.partKey = nil, nil
	return rows
}

// advance goes on after the last whole row.
func (s *scanner) advance() {
	if s.last == nil {
		return
	}
	s.start = following(s.last)
	s.done = s.done || len(s.start) == 0
	s.last = nil
}

const (
	// closeTimeout is how long the courtesy of closing a scanner may take; the server does it by
	// itself when the lease ends.
	closeTimeout = 5 * time.Second
	closeTries   = 4
)

// close asks the server to forget the scanner. A scanner that still works on the last request
// cannot be closed.
func (s *scanner) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var pause backoff
	for range closeTries {
		request := &pb.ScanRequest{ScannerId: new(s.id), CloseScanner: new(true), NumberOfRows: new(uint32(0))}
		_, err := send(ctx, s.client, newScanCall(ctx, s.scan.Table, s.key, request, true))
		if err == nil {
			return
		}
		s.e.o.Logger.Debug("scanner not closed", "table", s.scan.Table, "err", err)
		if x, ok := exceptionIn(err); !ok || x.class != "LeaseException" || pause.wait(ctx) != nil {
			return
		}
	}
}
