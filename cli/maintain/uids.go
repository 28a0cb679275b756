package maintain

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
)

// UIDOptions are the arguments and flags of the commands about UIDs.
type UIDOptions struct {
	admin.UIDRequest

	URL string // --adapter-url: of the adapter that has the store open
}

// UIDs carries out a command about UIDs. An adapter that has the embedded store open does it. The exit
// codes are those of OpenTSDB's tool: 0, or 1 if nothing matched, a name does not exist, or fsck found
// errors that it did not mend.
func UIDs(ctx context.Context, o adapter.Options, u UIDOptions, console command.Console) error {
	printLine := func(line string) error {
		_, err := fmt.Fprintln(console.Out, line)
		return err
	}
	code := 0
	err := o.AloneOrAsked(u.URL, func() error {
		return o.RunAlone(ctx, func(ctx context.Context, a *adapter.Adapter) (err error) {
			code, err = a.UIDs().Run(ctx, u.UIDRequest, printLine)
			return err
		})
	}, func(base string) (err error) {
		code, err = admin.RemoteUIDs{Base: base}.Run(ctx, u.UIDRequest, printLine)
		return err
	})
	if err != nil || code != 0 {
		return &command.ExitError{Code: max(code, 1), Err: err}
	}
	return nil
}
