package migrate

import (
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
)

// toldExport is what is told of an export.
func toldExport(p pipeline.ExportProgress) admin.Told {
	x := admin.Told{Unit: "metrics", Points: p.Points, Before: p.Before, Skipped: p.LeftOut, At: p.At.Name, Seconds: p.Took.Seconds(), Left: p.Left().Seconds()}
	if x.Total, x.Done = int64(p.At.Of), int64(p.At.Nth); p.At.Part != "" {
		x.Unit += " of " + p.At.Part
	}
	return x
}

// told is what is told of an export of metrics, or of windows of time.
func (e *ExportOptions) told(p pipeline.ExportProgress) admin.Told {
	x := toldExport(p)
	if e.unit != "" && x.Total > 0 {
		x.Unit, x.At = e.unit, time.UnixMilli(p.At.From).UTC().Format(time.RFC3339)
	}
	return x
}

// told is what is told of an import in pieces: files, or windows of time, which have no bytes.
func (i *ImportOptions) told(p pipeline.Progress) admin.Told {
	told := toldImport(p)
	if i.unit != "" {
		told.Unit, told.Bytes, told.BytesDone = i.unit, 0, 0
	}
	return told
}

// toldImport is what is told of an import.
func toldImport(p pipeline.Progress) admin.Told {
	return admin.Told{
		Unit: "files", Total: int64(p.Files), Done: int64(p.Done), Bytes: p.Size, BytesDone: min(p.Read, p.Size), Points: p.Points, Before: p.Before,
		Bad: p.Bad, Skipped: p.Skipped, Seconds: p.Took.Seconds(), Left: p.Left().Seconds(),
	}
}

// toldCopy is what is told of a copy.
func toldCopy(p tablecopy.Progress) admin.Told {
	x := admin.Told{
		Points: p.Points - p.Before.Points, Before: p.Before.Points, Skipped: p.LostN, Seconds: p.Took.Seconds(), At: p.At.Part,
		Total: int64(p.At.Of), Done: int64(p.At.Nth),
	}
	if p.At.Of > 0 {
		x.Unit, x.At = "metrics of "+p.At.Part, p.At.Name
	}
	return x
}
