package pipeline

import (
	"encoding/json"
	"sync"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A document is what a state keeps in a file, if that has a name. After a crash the file is the new one or the one
// before.
type document struct {
	name string

	mu    sync.Mutex // guards the contents of the document, and what follows
	dirty bool       // they are not those of the file
}

// text returns the contents, which are asked for while they do not change, as JSON to be written.
func (d *document) text(contents func() any) (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dirty = false
	return json.Marshal(contents())
}

// save writes the file.
func (d *document) save(contents func() any) error {
	text, err := d.text(contents)
	if err != nil || d.name == "" {
		return err
	}
	return fsutil.WriteState(d.name, text)
}

// changed calls save if something has changed.
func (d *document) changed(save func() error) error {
	d.mu.Lock()
	dirty := d.dirty
	d.mu.Unlock()
	if !dirty {
		return nil
	}
	return save()
}
