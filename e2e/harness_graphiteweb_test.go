package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// graphiteWeb is a running graphite-web 1.1.10. Its client sends requests to it.
type graphiteWeb struct {
	client
	process *process
	whisper string // the directory of its whisper files
}

// startGraphiteWeb runs graphite-web without caches and with additional lines of settings, in a directory of
// its own, and waits until it answers. It reads the whisper files in its directory unless settings say otherwise.
func startGraphiteWeb(t testing.TB, settings string) *graphiteWeb {
	t.Helper()
	python, dir, addr := graphiteWebPython(t), t.TempDir(), freeAddr(t)
	whisper := filepath.Join(dir, "whisper")
	for _, sub := range []string{whisper, filepath.Join(dir, "conf")} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Dir(filepath.Dir(python))
	templates, database := filepath.Join("conf", "graphTemplates.conf"), "graphite.db"
	for to, from := range map[string]string{templates: templates + ".example", database: database} {
		text, err := os.ReadFile(filepath.Join(home, from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	writeSettings(t, dir, settings)
	p := startProcess(t, dir, "/usr/bin/env", append(graphiteWebVars(dir), python, "-m", "django", "runserver", "--noreload", addr)...)
	web := &graphiteWeb{client: newClient(addr), process: p, whisper: whisper}
	eventually(t, waitTimeout, "graphite-web answers", func() error {
		select {
		case <-p.done:
			t.Fatalf("graphite-web ended: %v\n%s", p.err, p.out.tail())
		default:
		}
		r, err := web.do(t.Context(), http.MethodGet, "/version", nil, nil)
		if err == nil && r.status != http.StatusOK {
			err = fmt.Errorf("%v", r)
		}
		return err
	})
	return web
}

// graphiteWebVars are the variables of its environment with which graphite-web runs in a directory.
func graphiteWebVars(dir string) []string {
	return []string{
		"PYTHONPATH=" + dir, "DJANGO_SETTINGS_MODULE=graphite.settings", "GRAPHITE_SETTINGS_MODULE=tested_settings", "PYTHONWARNINGS=ignore",
		"http_proxy=", "HTTP_PROXY=", "TZ=UTC",
	}
}

// writeSettings writes the settings of a graphite-web, and what it needs of older Pythons.
func writeSettings(t testing.TB, dir, more string) {
	t.Helper()
	for name, text := range map[string]string{
		"tested_settings.py": fmt.Sprintf(`SECRET_KEY = 'tested'
ALLOWED_HOSTS = ['*']
TIME_ZONE = 'UTC'
CONF_DIR = %q
STORAGE_DIR = LOG_DIR = STATIC_ROOT = %q
WHISPER_DIR = %q
STANDARD_DIRS = [WHISPER_DIR]
LOG_ROTATION = False
DEFAULT_CACHE_DURATION = TAGDB_CACHE_DURATION = FIND_CACHE_DURATION = 0
CACHES = {'default': {'BACKEND': 'django.core.cache.backends.dummy.DummyCache'}}
DATABASES = {'default': {'NAME': %q, 'ENGINE': 'django.db.backends.sqlite3', 'OPTIONS': {'timeout': 30}}}
%s
`, filepath.Join(dir, "conf"), dir, filepath.Join(dir, "whisper"), filepath.Join(dir, "graphite.db"), more),
		// inspect.getargspec left Python in 3.11.
		"sitecustomize.py": "import inspect\nif not hasattr(inspect, 'getargspec'):\n    inspect.getargspec = lambda f: tuple(inspect.getfullargspec(f)[:4])\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// graphiteWebHome is where graphite-web is installed. It is looked for once.
var graphiteWebHome struct {
	once sync.Once
	path string
	err  error
}

// graphiteWebPython returns a Python that has graphite-web, carbon and whisper 1.1.10. pip fetches them once; they
// are kept for later runs, with an empty database. Without a Python that they install on, or without
// cairo, the test is skipped.
func graphiteWebPython(t testing.TB) string {
	t.Helper()
	base := olderPython(t)
	h := &graphiteWebHome
	h.once.Do(func() { h.path, h.err = installGraphiteWeb(base) })
	if h.err != nil {
		t.Fatal(h.err)
	}
	return filepath.Join(h.path, "bin", "python")
}

// olderPython returns a Python of 3.8 to 3.11, which the packages of graphite-web install on.
func olderPython(t testing.TB) string {
	t.Helper()
	const suits = "import sys, venv, ensurepip, ctypes; ctypes.CDLL('libcairo.so.2'); sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 11))"
	for _, name := range []string{"python3", "python3.11", "python3.10", "python3.9", "python3.8"} {
		if exec.CommandContext(t.Context(), name, "-c", suits).Run() == nil {
			return name
		}
	}
	t.Skip("graphite-web needs a Python of 3.8 to 3.11 with venv, and cairo (Debian: apt-get install python3.11-venv libcairo2)")
	return ""
}

// installGraphiteWeb makes the environment, unless it is there from an earlier run.
func installGraphiteWeb(python string) (string, error) {
	version, err := exec.Command(python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").Output()
	if err != nil {
		return "", err
	}
	return keptFolder("graphite-web-1.1.10-python-"+string(bytes.TrimSpace(version)), "graphite.db", func(work string) error { return installInto(work, python) })
}

// installInto installs graphite-web and makes its database, in which there is nothing yet.
func installInto(dir, python string) error {
	own := filepath.Join(dir, "bin", "python")
	pip := []string{"GRAPHITE_NO_PREFIX=True", own, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"}
	settings := "SECRET_KEY = 'x'\nLOG_DIR = STORAGE_DIR = WHISPER_DIR = CONF_DIR = '.'\nDATABASES = {'default': {'NAME': 'graphite.db', 'ENGINE': 'django.db.backends.sqlite3'}}\n"
	if err := os.WriteFile(filepath.Join(dir, "install_settings.py"), []byte(settings), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{python, "-m", "venv", dir},
		append(pip, "setuptools<81", "wheel"),
		append(pip, "--no-build-isolation", "graphite-web==1.1.10", "carbon==1.1.10", "whisper==1.1.10", "Django<3.1", "pyparsing<4", "Twisted<27"),
		{"PYTHONPATH=.", "DJANGO_SETTINGS_MODULE=graphite.settings", "GRAPHITE_SETTINGS_MODULE=install_settings", "PYTHONWARNINGS=ignore", own, "-m", "django", "migrate", "--run-syncdb", "-v", "0"},
	} {
		cmd := exec.Command("/usr/bin/env", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}
