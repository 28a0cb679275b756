package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// stopGrace is how long a process may take to end by itself after SIGTERM before it is killed.
const stopGrace = 5 * time.Minute

// A process is a child with its output in a file.
type process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed when the process has ended
	err       error         // how it ended; read after done
}

// spawn starts a child that writes to the file log (appending, so that a restart keeps the earlier
// output).
func spawn(name, log string, cmd *exec.Cmd) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, dieWithParent()
	p := &process{name: name, log: log, cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel watches the thread that starts the child, not the process: keep it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// kill ends the process as a crash would.
func (p *process) kill() {
	if p != nil {
		_ = p.cmd.Process.Kill() // an error means that it has ended already
		<-p.done
	}
}

// stop asks the process to end and waits for it.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopGrace):
		p.kill()
		return fmt.Errorf("%s had to be killed %v after SIGTERM%s", p.name, stopGrace, p.tail())
	}
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// tail returns the end of the process's output, for errors.
func (p *process) tail() string {
	all, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	const last = 4000
	if len(all) > last {
		all = all[len(all)-last:]
		all = all[bytes.IndexByte(all, '\n')+1:]
	}
	return fmt.Sprintf("\n--- end of %s:\n%s", p.log, all)
}

// died is the error of a process that ended before it was ready.
func (p *process) died() error {
	return fmt.Errorf("%s ended early: %w%s", p.name, errors.Join(errEnded, p.err), p.tail())
}

var errEnded = errors.New("process ended")
