package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// root is the folder of the repository.
const root = ".."

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tsdbridge": func() { os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// The scripts run the binary as its user does: command lines, configuration files, output and exit
// codes.
func TestScripts(t *testing.T) {
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPOSITORY", repository)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"http": httpCommand, "hold": holdCommand},
	})
}

var listening = regexp.MustCompile(`msg=listening protocol=http address=(\S+)`)

// httpCommand is "http STATUS PATH [LOG]": waits until the server whose log is the file LOG
// (default log) listens, then asks for PATH until the answer has the status. Its body becomes the
// file "answer".
func httpCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: http STATUS PATH [LOG]")
	}
	log := "log"
	if len(args) > 2 {
		log = args[2]
	}
	deadline := time.Now().Add(time.Minute)
	last := "never listened"
	// polling, with a deadline
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(log))
		m := listening.FindSubmatch(text)
		if err != nil || m == nil {
			continue
		}
		resp, err := http.Get("http://" + strings.Replace(string(m[1]), "[::]", "127.0.0.1", 1) + args[1])
		if err != nil {
			last = err.Error()
			continue
		}
		var body strings.Builder
		if err := resp.Write(&body); err != nil {
			ts.Fatalf("%v", err)
		}
		if last = resp.Status; strings.HasPrefix(last, args[0]) {
			ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(body.String()), 0o600))
			return
		}
	}
	ts.Fatalf("%s: last: %s", args[1], last)
}

// holdCommand is "hold LOG": it begins a request to the server whose log is the file LOG and never
// ends it. The connection stays until the script ends.
func holdCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold LOG")
	}
	m := listening.FindStringSubmatch(ts.ReadFile(args[0]))
	if m == nil {
		ts.Fatalf("the server does not listen")
	}
	conn, err := net.Dial("tcp", strings.Replace(m[1], "[::]", "127.0.0.1", 1))
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	ts.Check(err)
	// the server has asked for the body: the request is under way
	_, err = bufio.NewReader(conn).ReadString('\n')
	ts.Check(err)
}
