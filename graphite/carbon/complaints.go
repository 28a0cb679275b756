package carbon

import (
	"context"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
)

// complaintBytes is how much of a line is kept.
const complaintBytes = 128

// complain counts a bad line, and perhaps keeps and logs it. line is read only then.
func (l *Listener) complain(ctx context.Context, reason Reason, line []byte, client string) {
	if reason == ReasonNaN {
		return // as carbon: many senders have them and mean nothing by it
	}
	l.o.Refused.Add(ctx, rejections.Sample{Source: rejections.Carbon, Client: client, Reason: reason.String(), Points: 1},
		func() string { return string(line[:min(len(line), complaintBytes)]) })
}
