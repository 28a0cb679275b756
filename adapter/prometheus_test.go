package adapter

import (
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

func TestCORSOriginIsARegularExpression(t *testing.T) {
	o := DefaultOptions()
	o.Engine, o.CORSOrigin = tables.EngineMemory, "("
	o.LogPath, o.Path, o.ListenAddress = t.TempDir(), t.TempDir(), ""
	a, err := New(o)
	if err == nil {
		_ = a.Close() // nothing was written
	}
	if err == nil || !strings.HasPrefix(err.Error(), "--web.cors-origin: ") {
		t.Errorf("%v, want an error of --web.cors-origin", err)
	}
}
