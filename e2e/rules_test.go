package e2e_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// promtool tests the rules of deploy/prometheus and the configuration that reads them.
func TestRules(t *testing.T) {
	needE2E(t)
	for _, args := range [][]string{
		{"test", "rules", filepath.Join("tests", "alerts.yml")},
		{"check", "rules", filepath.Join("rules", "alerts.yml"), filepath.Join("rules", "recording.yml")},
		{"check", "config", "prometheus.yml"},
	} {
		cmd := exec.CommandContext(t.Context(), prometheusBinary(t, "promtool"), args...) //nolint:gosec // ours
		cmd.Dir = filepath.Join(moduleRoot, "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
