package adapter

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// tmpfs mounts a file system of its own, where that is permitted. storage/pebble and storage/log
// test a full disk without it too.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mount a file system: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fill uses all free space of a disk: blocks, then inodes.
func fillDisk(t *testing.T, dir string) (empty func()) {
	t.Helper()
	var made []string
	for size := int64(64 << 20); size >= 4<<10; size /= 2 {
		for {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint("fill", len(made))))
			if err != nil {
				break
			}
			made = append(made, f.Name())
			if errors.Join(syscall.Fallocate(int(f.Fd()), 0, 0, size), f.Close()) != nil {
				break
			}
		}
	}
	return func() {
		for _, name := range made {
			must(t, os.Remove(name))
		}
	}
}

// TestStartWithoutWrites starts stores, after a kill and after a clean end, on a disk that is full
// to the last byte, on one without a free inode, and on one that is mounted read-only. Everything
// acknowledged is answered, and writes are refused with the reason. When the disk takes writes
// again the store does too, and nothing is lost.
func TestStartWithoutWrites(t *testing.T) {
	stores, _ := storesToDamage(t)
	for _, c := range []struct {
		name, mount, says string
		bar               func(t *testing.T, dir string) (lift func())
	}{
		{"full", "size=200m", "is full", fillDisk},
		{"no inodes", "size=200m,nr_inodes=60", "is full", fillInodes},
		{"read-only", "size=200m", "mounted read-only", readOnly},
	} {
		for name, o := range stores {
			t.Run(c.name+", "+name, func(t *testing.T) {
				want := startDamaged(t, o, copyOf(t, o))
				dir := tmpfs(t, c.mount)
				o.Path, o.MinFreeBytes = filepath.Join(dir, "store"), 0
				must(t, servertest.CopySparse(stores[name].Path, o.Path))
				lift := c.bar(t, dir)
				a, stop := runAdapter(t, o)
				got := damagedStart{}
				got.dumpEach(t, a.store)
				got.compare(t, "on a disk that takes no writes", dir, want)
				if _, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+"/-/ready?verbose", nil); !strings.Contains(body, "writes refused: ") || !strings.Contains(body, c.says) {
					t.Errorf("ready: %s", body)
				}
				if status, body := putOne(t, a); status != http.StatusServiceUnavailable || !strings.Contains(body, c.says) {
					t.Errorf("put: %d %s", status, body)
				}
				lift()
				// polling, with a deadline
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
					if status, body := putOne(t, a); status == http.StatusNoContent {
						break
					} else if time.Now().After(deadline) {
						t.Fatalf("put: %d %s", status, body)
					}
				}
				stop()
				got = startDamaged(t, o, o.Path)
				got.compare(t, "later", dir, want)
				if got.refused != "" || len(got.series) != len(want.series)+1 {
					t.Errorf("later: %d series, want %d %s", len(got.series), len(want.series)+1, got.refused)
				}
			})
		}
	}
}

func putOne(t *testing.T, a *Adapter) (status int, body string) {
	t.Helper()
	text := fmt.Sprintf(`{"metric":"new","timestamp":%d,"value":1,"tags":{"a":"b"}}`, fixtureTime(1)/1000)
	resp, err := http.Post("http://"+a.opentsdb.Addr()+"/api/put", "application/json", strings.NewReader(text))
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(b)
}

func fillInodes(t *testing.T, dir string) (empty func()) {
	t.Helper()
	var made []string
	for {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("fill", len(made))))
		if err != nil {
			break
		}
		must(t, f.Close())
		made = append(made, f.Name())
	}
	return func() {
		for _, name := range made {
			must(t, os.Remove(name))
		}
	}
}

func readOnly(t *testing.T, dir string) (writable func()) {
	t.Helper()
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	return func() { must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "")) }
}
