package migrate

import (
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
)

// exportProgress is the progress of an export.
func exportProgress(p pipeline.ExportProgress) admin.Progress {
	x := admin.Progress{Unit: "metrics", Points: p.Points, Before: p.Before, Skipped: p.LeftOut, At: p.At.Name, Seconds: p.Took.Seconds(), Left: p.Left().Seconds()}
	if x.Total, x.Done = int64(p.At.Of), int64(p.At.Nth); p.At.Part != "" {
		x.Unit += " of " + p.At.Part
	}
	return x
}

// reported is the progress of an export of metrics, or of windows of time.
func (e *ExportOptions) reported(p pipeline.ExportProgress) admin.Progress {
	x := exportProgress(p)
	if e.unit != "" && x.Total > 0 {
		x.Unit, x.At = e.unit, time.UnixMilli(p.At.From).UTC().Format(time.RFC3339)
	}
	return x
}

// reported is the progress of an import in pieces: files, or windows of time, which have no bytes.
func (i *ImportOptions) reported(p pipeline.Progress) admin.Progress {
	x := importProgress(p)
	if i.unit != "" {
		x.Unit, x.Bytes, x.BytesDone = i.unit, 0, 0
	}
	return x
}

// importProgress is the progress of an import.
func importProgress(p pipeline.Progress) admin.Progress {
	return admin.Progress{
		Unit: "files", Total: int64(p.Files), Done: int64(p.Done), Bytes: p.Size, BytesDone: min(p.Read, p.Size), Points: p.Points, Before: p.Before,
		Bad: p.Bad, Skipped: p.Skipped, Seconds: p.Took.Seconds(), Left: p.Left().Seconds(),
	}
}

// copyProgress is the progress of a copy.
func copyProgress(p tablecopy.Progress) admin.Progress {
	x := admin.Progress{
		Points: p.Points - p.Before.Points, Before: p.Before.Points, Skipped: p.LostN, Seconds: p.Took.Seconds(), At: p.At.Part,
		Total: int64(p.At.Of), Done: int64(p.At.Nth),
	}
	if p.At.Of > 0 {
		x.Unit, x.At = "metrics of "+p.At.Part, p.At.Name
	}
	return x
}
