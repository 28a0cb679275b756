package storage

import (
	"github.com/tsdbridge/tsdbridge/storage/changes"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/layoutcheck"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// Changes are what has changed since a reading began.
type Changes = changes.Details

// ErrUnsupported means that the servers of the engine are too old; the text has the reason. No
// retry helps.
var ErrUnsupported = kv.ErrUnsupported

// ErrLayout means that the UID widths or the salt of the flags are not those of the tables; the
// text names the flags. No retry helps.
var ErrLayout = layoutcheck.ErrLayout

// A RetentionRule is how long points of some series are kept.
type RetentionRule = retention.Rule

// A FillRule tells which intervals of which series are filled from points.
type FillRule = job.Rule

// WindowQuery asks for windows of filled rollup tables.
type WindowQuery = job.WindowQuery

// Window is what PromQL's functions need of an interval of a series.
type Window = rollup.Window

// ErrNoWindows means that points must be read.
var ErrNoWindows = job.ErrNoWindows

// A Mapping is a name with its UID.
type Mapping = uid.Mapping

// A UsedError is a deletion of a UID that series have.
type UsedError = register.UsedError

// A UIDCheck tells what CheckUIDs mends, and whom it tells; see package uid. The store fills in Used and
// Now.
type UIDCheck = uid.CheckOptions

// A UIDReport is what CheckUIDs found.
type UIDReport = uid.CheckReport
