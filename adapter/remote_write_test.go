package adapter

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

// TestRemoteWrite sends what is stored on to another adapter, as reloads tell.
func TestRemoteWrite(t *testing.T) {
	other := DefaultOptions()
	other.Engine = tables.EngineMemory
	to, _ := runAdapter(t, other)
	dir := t.TempDir()
	r, o := newReloadable(t, func(o *Options) { o.RemoteWrite.Path = dir })
	sendRemoteWrite(t, r.Adapter, `{__name__="m"} 1@1000`, 1)

	o.PromConfig = mustParseProm(t, dir, fmt.Sprintf(`{global: {external_labels: {site: b}}, remote_write: [{url: "http://%s/api/v1/write", name: other, queue_config: {batch_send_deadline: 1ms}}]}`, to.Addr()))
	r.set(o, nil)
	if got := r.reload(http.StatusOK); !strings.Contains(got, `"remote_write"`) {
		t.Errorf("the reload answers %s", got)
	}
	sendRemoteWrite(t, r.Adapter, `{__name__="m"} 2@2000`, 2)
	(&reloadable{Adapter: to, t: t}).await("/api/v1/query?time=2&query=m[10s]", `{"metric":{"__name__":"m","site":"b"},"values":[[2,"2"]]}`)

	o.PromConfig = mustParseProm(t, dir, `remote_write: [{url: "http://h/", tls_config: {ca_file: nowhere}}]`)
	r.set(o, nil)
	if got := r.reload(http.StatusInternalServerError); !strings.Contains(got, "nowhere") {
		t.Errorf("the reload answers %s", got)
	}
	sendRemoteWrite(t, r.Adapter, `{__name__="m"} 3@3000`, 1)
	(&reloadable{Adapter: to, t: t}).await("/api/v1/query?time=3&query=m[10s]", `[3,"3"]`)
}

// TestRemoteWriteOptions refuses what cannot work.
func TestRemoteWriteOptions(t *testing.T) {
	const remote = `remote_write: [{url: "http://h/"}]`
	for want, change := range map[string]func(*Options){
		"--remote-write.max-bytes":  func(o *Options) { o.RemoteWrite.MaxBytes = 1 },
		"needs --remote-write.path": func(o *Options) { o.Path = "" },
		"two destinations have the name": func(o *Options) {
			o.PromConfig = mustParseProm(t, "", strings.Replace(remote, "[", `[{url: "http://h/"}, `, 1))
		},
	} {
		o := DefaultOptions()
		o.Engine, o.ZooKeeper = tables.EngineHBase, "h:1"
		o.PromConfig = mustParseProm(t, "", remote)
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
