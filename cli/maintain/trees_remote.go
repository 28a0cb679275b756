package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
)

// remoteTrees are those of a running adapter.
type remoteTrees struct {
	base    string
	options SyncOptions
}

// adapterText copies the answer of a running adapter to out.
func adapterText(ctx context.Context, base, path string, query url.Values, out io.Writer) error {
	resp, err := admin.Get(ctx, http.MethodGet, base, path+"?"+query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	from := resp.Request.URL
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		return fmt.Errorf("%s answers %s: %s", from.Redacted(), resp.Status, admin.ReasonOf(text))
	}
	if _, err = io.Copy(out, resp.Body); err != nil {
		return fmt.Errorf("read the answer of %s: %w", from.Redacted(), err)
	}
	return nil
}

func (t remoteTrees) show(ctx context.Context, nameOrID, path string, depth int, out io.Writer) error {
	return adapterText(ctx, t.base, trees.ShowPath, url.Values{"tree": {nameOrID}, "path": {path}, "depth": {strconv.Itoa(depth)}}, out)
}

func (t remoteTrees) test(ctx context.Context, name string, names []string, out io.Writer) error {
	return adapterText(ctx, t.base, trees.TestPath, url.Values{"name": {name}, "tree": names, "format": {"text"}}, out)
}

// sync makes a running adapter append series to trees, and prints the progress until it is done.
// If a pass is running already, it waits for that.
func (t remoteTrees) sync(ctx context.Context, out io.Writer) error {
	before, err := syncState(ctx, t.base)
	if err != nil {
		return err
	}
	if !before.Running {
		o := t.options
		form := url.Values{"from": {o.From}, "rows": {strconv.FormatBool(o.Rows)}, "parallel": {strconv.Itoa(o.Parallel)}}
		if err := admin.Call(ctx, t.base, trees.SyncPath+"?"+form.Encode(), &trees.SyncState{}); err != nil {
			return err
		}
	}
	return waitSync(ctx, t.base, before.Passes, t.options.Every, out)
}

// syncLook is how often the progress of a running adapter is requested.
const syncLook = 200 * time.Millisecond

// waitSync prints the progress of a running adapter until it has finished one more pass.
func waitSync(ctx context.Context, base string, passes int, every time.Duration, out io.Writer) error {
	ticker := time.NewTicker(syncLook)
	defer ticker.Stop()
	for printed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		now, err := syncState(ctx, base)
		switch {
		case err != nil:
			return err
		case now.Passes > passes && !now.Running:
			fmt.Fprint(out, now.Report)
			if now.Error != "" {
				return errors.New(now.Error)
			}
			return nil
		case time.Since(printed) >= every:
			printed = time.Now()
			fmt.Fprintf(out, "done up to %s: %d of about %d series\n", now.At, now.Series, now.Of)
		}
	}
}

// syncState returns how far the sync of a running adapter is.
func syncState(ctx context.Context, base string) (trees.SyncState, error) {
	var text strings.Builder
	if err := adapterText(ctx, base, trees.StatusPath, nil, &text); err != nil {
		return trees.SyncState{}, err
	}
	var reply struct {
		Data struct {
			Sync trees.SyncState `json:"sync"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(text.String()), &reply); err != nil {
		return trees.SyncState{}, fmt.Errorf("the answer of %s%s is not an adapter's: %w", base, trees.StatusPath, err)
	}
	return reply.Data.Sync, nil
}
