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

// The commands about trees call the adapter that has the embedded store open.

// adapterText copies the answer of a running adapter to out.
func adapterText(ctx context.Context, base, path string, query url.Values, out io.Writer) error {
	resp, err := admin.Get(ctx, http.MethodGet, base, path+"?"+query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	asked := resp.Request.URL
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		return fmt.Errorf("%s answers %s: %s", asked.Redacted(), resp.Status, admin.ReasonOf(text))
	}
	if _, err = io.Copy(out, resp.Body); err != nil {
		return fmt.Errorf("read the answer of %s: %w", asked.Redacted(), err)
	}
	return nil
}

// askShow prints trees of a running adapter.
func askShow(ctx context.Context, base, nameOrID, path string, depth int, out io.Writer) error {
	return adapterText(ctx, base, trees.ShowPath, url.Values{"tree": {nameOrID}, "path": {path}, "depth": {strconv.Itoa(depth)}}, out)
}

// askTest prints how a running adapter routes a series.
func askTest(ctx context.Context, base, name string, asked []string, out io.Writer) error {
	return adapterText(ctx, base, trees.TestPath, url.Values{"name": {name}, "tree": asked, "format": {"text"}}, out)
}

// askSync makes a running adapter append series to trees, and prints the progress until it is done.
// If a pass is running already, it waits for that.
func askSync(ctx context.Context, base string, s SyncOptions, out io.Writer) error {
	before, err := askSyncState(ctx, base)
	if err != nil {
		return err
	}
	if !before.Running {
		form := url.Values{"from": {s.From}, "rows": {strconv.FormatBool(s.Rows)}, "parallel": {strconv.Itoa(s.Parallel)}}
		if err := admin.Call(ctx, base, trees.SyncPath+"?"+form.Encode(), &trees.SyncState{}); err != nil {
			return err
		}
	}
	return waitSync(ctx, base, before.Passes, s.Every, out)
}

// syncLook is how often the progress of a running adapter is requested.
const syncLook = 200 * time.Millisecond

// waitSync prints the progress of a running adapter until it has finished one more pass.
func waitSync(ctx context.Context, base string, passes int, every time.Duration, out io.Writer) error {
	ticker := time.NewTicker(syncLook)
	defer ticker.Stop()
	for told := time.Now(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		now, err := askSyncState(ctx, base)
		switch {
		case err != nil:
			return err
		case now.Passes > passes && !now.Running:
			fmt.Fprint(out, now.Report)
			if now.Error != "" {
				return errors.New(now.Error)
			}
			return nil
		case time.Since(told) >= every:
			told = time.Now()
			fmt.Fprintf(out, "done up to %s: %d of about %d series\n", now.At, now.Series, now.Of)
		}
	}
}

func askSyncState(ctx context.Context, base string) (trees.SyncState, error) {
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
