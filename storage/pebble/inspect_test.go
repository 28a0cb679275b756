package pebble

import (
	"bytes"
	"testing"

	pebblerecord "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCheckLogAtBlocks ends what is synced of a log at each of many bytes, with torn bytes behind. The
// log is in order if all records up to there are whole, with what fills a block up to its end; a
// record that is not whole is a loss.
func TestCheckLogAtBlocks(t *testing.T) {
	const block = 32 << 10
	files := vfs.NewMem()
	if err := files.MkdirAll("store", 0o700); err != nil {
		t.Fatal(err)
	}
	for fill := range int64(40) {
		var log bytes.Buffer
		w := pebblerecord.NewLogWriter(&log, 1, pebblerecord.LogWriterConfig{WriteWALSyncOffsets: func() bool { return true }})
		first, err := w.WriteRecord(make([]byte, 100))
		if err != nil {
			t.Fatal(err)
		}
		header := first - 100
		// the second record leaves so many bytes of the first block
		end, err := w.WriteRecord(make([]byte, block-first-header-fill))
		if err != nil {
			t.Fatal(err)
		}
		last, err := w.WriteRecord(make([]byte, 50))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		whole := log.Bytes()[:last]
		if want := int64(block); fill < header && end != want || fill >= header && end != want-fill {
			t.Fatalf("with %d bytes left of a block the log goes up to %d", fill, end)
		}
		check := func(synced int64) error {
			torn := append(bytes.Clone(whole[:synced]), bytes.Repeat([]byte{0xAB}, 500)...)
			file, err := files.Create("store/000001.log", vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.Write(torn); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			f := &inspection{path: "store", files: files}
			return f.checkLog(ownedFile{number: 1, size: synced})
		}
		if err := check(end); err != nil {
			t.Errorf("%d bytes left of a block: %v", fill, err)
		}
		if err := check(last); err != nil {
			t.Errorf("a record after %d bytes that fill up: %v", fill, err)
		}
		whole = append(bytes.Clone(whole[:last-30]), bytes.Repeat([]byte{0xCD}, 30)...)
		if err := check(last); err == nil {
			t.Errorf("a broken record after %d bytes that fill up is in order", fill)
		}
	}
}
