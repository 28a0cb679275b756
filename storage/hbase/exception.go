package hbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tsuna/gohbase"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// An exception is what a server answered instead of a result.
type exception struct {
	class   string // the Java class without its package
	message string // one line
}

func (e *exception) Error() string { return "HBase answers " + e.class + ": " + e.message }

// newException takes the full name of a Java class and a stack trace, whose first line repeats the
// class.
func newException(class, stack string) *exception {
	line, _, _ := strings.Cut(strings.TrimSpace(stack), "\n")
	line = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, class), ":"))
	return &exception{class: class[strings.LastIndexAny(class, ".$")+1:], message: line}
}

// exceptionIn finds the exception in an error of gohbase, which has it only as text.
func exceptionIn(err error) (*exception, bool) {
	if e, ok := errors.AsType[*exception](err); ok {
		return e, true
	}
	_, text, ok := strings.Cut(err.Error(), "HBase Java exception ")
	if !ok {
		return nil, false
	}
	class, stack, _ := strings.Cut(text, ":\n")
	return newException(class, stack), true
}

// A verdict is what to do after an exception.
type verdict int

const (
	giveUp verdict = iota // it would be answered the same again
	again                 // not now: wait, then send again
	moved                 // not here: find the region, then send again
)

// classify is the table of retries. gohbase knows the first lines of it for requests that fail as a
// whole. The exceptions of single rows in a batch are not seen by gohbase, and neither are the
// classes that it takes for final.
func (e *exception) classify() verdict {
	switch e.class {
	case "NotServingRegionException", "RegionMovedException",
		"RegionServerStoppedException", "RegionServerAbortedException", "ServerNotRunningYetException":
		return moved
	case "RegionOpeningException", "RegionTooBusyException", "CallQueueTooBigException", "RpcThrottlingException",
		"RetryImmediatelyException", "PleaseHoldException",
		"CallDroppedException",      // waited too long in the server's queue
		"MultiActionResultTooLarge", // the rest of a batch whose answer grew too big
		"WALClosedException",        // the log was rolled or the region is closing
		"TimeoutIOException",        // the log did not sync in time
		"WALSyncTimeoutIOException", //
		"FailedSyncBeforeLogCloseException",
		"DroppedSnapshotException", // a flush failed; the server goes down
		"RegionInRecoveryException", "NotAllMetaRegionsOnlineException",
		"CallTimeoutException", "SocketTimeoutException", "InterruptedIOException", "ClosedChannelException",
		"IOException": // final errors are a DoNotRetryIOException
		return again
	}
	return giveUp
}

// errNoAnswer means that a deadline of ours has passed; it is not the caller's.
var errNoAnswer = errors.New("no answer from HBase")

// tooLate is the error of a deadline of ours when it is known what stood in the way.
func (o Options) tooLate(limit time.Duration, reason error) error {
	if x, ok := exceptionIn(reason); ok {
		reason = x
	}
	return fmt.Errorf("%w at %s within %v: %w", errNoAnswer, o.ZooKeeper, limit, reason)
}

// explain turns an error of an operation on a table into the contract's: the caller's own
// cancellation as such, missing tables and families as kv.ErrNoTable, the rest with the reason that
// HBase gave.
func (e *Engine) explain(ctx context.Context, operation, table string, err error, limit time.Duration) error {
	if ctx.Err() == nil {
		e.metrics.failed(operation)
	}
	x, ok := exceptionIn(err)
	_, typed := errors.AsType[*exception](err)
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, gohbase.TableNotFound):
		err = kv.ErrNoTable
	case ok && (x.class == "NoSuchColumnFamilyException" || x.class == "TableNotFoundException"):
		err = fmt.Errorf("%w: %s", kv.ErrNoTable, x.message)
	case ok && !typed: // without the stack trace
		err = x
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w at %s within %v", errNoAnswer, e.o.ZooKeeper, limit)
	}
	return fmt.Errorf("%s table %s: %w", operation, table, err)
}

// lostScanner reports whether a request to an open scanner failed in a way that opening another
// scanner may repair. An error that is not an exception is a lost connection, or the second sending
// that scanCall refuses.
func lostScanner(err error) bool {
	if errors.Is(err, errBadAnswer) || errors.Is(err, errBadCell) {
		return false
	}
	x, ok := exceptionIn(err)
	if !ok {
		return true
	}
	switch x.class {
	case "UnknownScannerException", "OutOfOrderScannerNextException", "ScannerResetException", "LeaseException":
		return true
	}
	return x.classify() != giveUp
}

// errNotSent means that a connection was lost before a request went out on it.
var errNotSent = errors.New("connection lost before the request was sent")

// notExecuted reports whether a request that failed with an error was certainly not carried out.
func notExecuted(err error) bool {
	if errors.Is(err, errNotSent) {
		return true
	}
	x, ok := exceptionIn(err)
	if !ok {
		return false
	}
	switch x.class {
	case "RegionOpeningException", "RegionTooBusyException", "CallQueueTooBigException", "RpcThrottlingException",
		"PleaseHoldException", "CallDroppedException":
		return true
	}
	return x.classify() == moved
}

// backoff is the pause between attempts: it doubles from 10 ms to 1 s.
type backoff struct{ next time.Duration }

// wait sleeps; it ends with ctx's error when ctx does.
func (b *backoff) wait(ctx context.Context) error {
	b.next = min(max(2*b.next, 10*time.Millisecond), time.Second)
	t := time.NewTimer(b.next)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
