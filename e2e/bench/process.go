package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// stopGrace is how long a server may take to end after SIGTERM: it may have hours of data to write.
const stopGrace = 2 * time.Minute

// A process is a server under test, with its output in a file.
type process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed when it has ended
	err       error         // how it ended; read after done
}

// spawn starts a program whose output is appended to a file log in dir. The kernel kills it when
// this process ends.
func spawn(dir, path string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(path), log: filepath.Join(dir, "log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = dir, out, out, dieWithParent()
	started := make(chan error, 1)
	go func() {
		// The kernel watches the thread that starts the child, not the process: keep it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process as a crash would and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended already
	<-p.done
}

// stop asks the process to end, waits for that and returns the CPU seconds of its whole life.
func (p *process) stop() (cpu float64, err error) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopGrace):
		p.kill()
		return 0, fmt.Errorf("%s still ran %v after SIGTERM\n%s", p.name, stopGrace, p.tail())
	}
	if p.err != nil {
		err = fmt.Errorf("%s ended after SIGTERM with: %w\n%s", p.name, p.err, p.tail())
	}
	return (p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()).Seconds(), err
}

// ended is the error of a process that has ended, nil while it runs.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %w\n%s", p.name, errors.Join(errEnded, p.err), p.tail())
	default:
		return nil
	}
}

var errEnded = errors.New("process ended")

// tail returns the end of its output.
func (p *process) tail() string {
	all, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const last = 3000
	if len(all) > last {
		all = all[len(all)-last:]
	}
	return string(bytes.TrimSpace(all))
}

// until repeats ask until it succeeds, the process ends or the time is up.
func until(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	const pause = 5 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil || errors.Is(err, errEnded) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", limit, err)
		case <-time.After(pause):
		}
	}
}
