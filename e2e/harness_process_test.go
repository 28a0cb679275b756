package e2e_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopGrace is how long a process may take to end after SIGTERM.
const stopGrace = 45 * time.Second

// process is a child and all that it printed.
type process struct {
	name string
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read after done
}

// startProcess runs a program in dir until the test ends, or this process does. What it printed is
// logged if the test failed.
func startProcess(t testing.TB, dir, path string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(path, args...)
	p := &process{name: filepath.Base(path), cmd: cmd, out: newOutput(), done: make(chan struct{})}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, p.out, p.out, dieWithParent()
	started := make(chan error, 1)
	go func() {
		// The kernel ties the child to the thread that starts it, not to the process: keep the
		// thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
		p.out.close()
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s %s printed:\n%s", p.name, strings.Join(args, " "), p.out.tail())
		}
	})
	return p
}

// Kill ends the process as a crash would (SIGKILL) and waits until it is gone.
func (p *process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

// Stop asks the process to end (SIGTERM) and fails the test unless it does so with exit status 0.
func (p *process) Stop(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stop %s: %v", p.name, err)
	}
	select {
	case <-p.done:
		if p.err != nil {
			t.Errorf("%s ended after SIGTERM with: %v", p.name, p.err)
		}
	case <-time.After(stopGrace):
		p.Kill()
		t.Fatalf("%s still ran %v after SIGTERM", p.name, stopGrace)
	}
}

// output keeps what a process prints, and lets callers wait for a line of it.
type output struct {
	mu      sync.Mutex // guards all below
	text    bytes.Buffer
	changed chan struct{} // closed at the next change
	closed  bool
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	close(o.changed)
	o.changed = make(chan struct{})
	return len(p), nil
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	close(o.changed)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) tail() string {
	const last = 16 << 10
	all := o.String()
	if len(all) > last {
		return "...\n" + all[len(all)-last:]
	}
	return all
}

// line waits up to waitTimeout for a line that contains all the texts, and returns it.
func (o *output) line(texts ...string) (string, error) {
	deadline := time.After(waitTimeout)
	for {
		o.mu.Lock()
		all, changed, closed := o.text.String(), o.changed, o.closed
		o.mu.Unlock()
		if line, ok := lineWith(all, texts); ok {
			return line, nil
		}
		if closed {
			return "", fmt.Errorf("it ended without printing %q", texts)
		}
		select {
		case <-changed:
		case <-deadline:
			return "", fmt.Errorf("it did not print %q within %v", texts, waitTimeout)
		}
	}
}

// lineWith finds the first whole line that holds all the texts.
func lineWith(all string, texts []string) (string, bool) {
lines:
	for line := range strings.Lines(all) {
		if !strings.HasSuffix(line, "\n") {
			return "", false
		}
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		return line, true
	}
	return "", false
}
