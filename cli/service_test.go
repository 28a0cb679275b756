//go:build unix

package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A service manager starts the process with bound sockets, hears that it serves at them, and hears when it
// stops.
func TestService(t *testing.T) {
	web, carbon := boundPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	manager := newFakeManager(t)
	process := manager.start(ctx, t, []*os.File{web.file, carbon.tcp, carbon.udp}, "--storage.engine=memory", "--web.listen-address="+web.address, "--carbon.listen-address="+carbon.address)
	manager.waitFor(t, "READY=1")
	resp, err := http.Get("http://" + web.address + "/-/ready")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("ready: %s", resp.Status)
	}
	for _, network := range []string{"tcp", "udp"} {
		conn, err := net.Dial(network, carbon.address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "sockets.%s 1 %d\n", network, time.Now().Unix())
		_ = conn.Close()
		waitForAnswer(ctx, t, "http://"+web.address+"/metrics/find?query=sockets."+network, `"id": "sockets.`+network)
	}
	manager.waitFor(t, "WATCHDOG=1")
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	manager.waitFor(t, "STOPPING=1")
	if err := process.Wait(); err != nil {
		t.Errorf("%v\n%s", err, process.Stderr)
	}
}

// A socket that no flag names would let its clients wait for ever.
func TestServiceSpareSocket(t *testing.T) {
	web, _ := boundPair(t)
	process := newFakeManager(t).start(t.Context(), t, []*os.File{web.file}, "--storage.engine=memory", "--web.listen-address=127.0.0.1:0")
	err := process.Wait()
	if said := fmt.Sprint(process.Stderr); err == nil || !strings.Contains(said, "tcp "+web.address+", which no flag names") {
		t.Errorf("%v: %s", err, said)
	}
}

type boundWeb struct {
	file    *os.File
	address string
}

type boundCarbon struct {
	tcp, udp *os.File
	address  string
}

// boundPair binds what a .socket unit would bind.
func boundPair(t *testing.T) (web boundWeb, carbon boundCarbon) {
	t.Helper()
	for range 16 {
		w, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		web = boundWeb{address: w.Addr().String(), file: fileOf(t, w)}
		carbon = boundCarbon{address: c.Addr().String(), tcp: fileOf(t, c)}
		u, err := net.ListenPacket("udp", carbon.address)
		if err != nil {
			continue // another process has the port of UDP
		}
		carbon.udp = fileOf(t, u.(*net.UDPConn))
		return web, carbon
	}
	t.Fatal("no port is free for both TCP and UDP")
	return web, carbon
}

type boundSocket interface {
	File() (*os.File, error)
	Close() error
}

// fileOf returns the file of a socket, which is closed itself.
func fileOf(t *testing.T, socket boundSocket) *os.File {
	t.Helper()
	f, err := socket.File()
	if err != nil {
		t.Fatal(err)
	}
	_ = socket.Close()
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// fakeManager does what systemd does for a service of Type=notify.
type fakeManager struct {
	conn *net.UnixConn
	path string
}

func newFakeManager(t *testing.T) *fakeManager {
	t.Helper()
	m := &fakeManager{path: filepath.Join(t.TempDir(), "notify")}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m.conn = conn
	return m
}

// start starts the binary with sockets. They are for the process that the shell becomes.
func (m *fakeManager) start(ctx context.Context, t *testing.T, sockets []*os.File, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", `LISTEN_PID=$$ exec tsdbridge "$@"`, "sh"}, args...)...)
	c.ExtraFiles, c.Stderr = sockets, &bytes.Buffer{}
	c.Env = append(os.Environ(), fmt.Sprintf("LISTEN_FDS=%d", len(sockets)), "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=300000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// waitFor reads messages until one has the line.
func (m *fakeManager) waitFor(t *testing.T, line string) {
	t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 4096)
	for {
		n, err := m.conn.Read(message)
		if err != nil {
			t.Fatalf("no %s: %v", line, err)
		}
		if strings.Contains("\n"+string(message[:n])+"\n", "\n"+line+"\n") {
			return
		}
	}
}

// waitForAnswer asks until the answer contains the text.
func waitForAnswer(ctx context.Context, t *testing.T, url, text string) {
	t.Helper()
	last := ""
	for ctx.Err() == nil {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		if last = body.String(); strings.Contains(last, text) {
			return
		}
		time.Sleep(20 * time.Millisecond) // polling, with a deadline
	}
	t.Fatalf("%s: %s, want %s", url, last, text)
}
