package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ticks is how many units of time of /proc/PID/stat make a second: 100 on every architecture.
const ticks = 100

// usage is the CPU time that processes have used, and their memory.
type usage struct {
	cpu       float64 // seconds, user and system
	rss, peak float64 // bytes; peak since the processes began
}

// usageOf returns the sum over processes. A process that has ended counts as zero.
func usageOf(pids ...int) usage {
	var u usage
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid)
		if text, err := os.ReadFile(dir + "/stat"); err == nil {
			// The second field is the name, in parentheses, and may have anything in it; utime and
			// stime are fields 14 and 15.
			f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
			user, _ := strconv.ParseFloat(string(f[11]), 64)
			system, _ := strconv.ParseFloat(string(f[12]), 64)
			u.cpu += (user + system) / ticks
		}
		if text, err := os.ReadFile(dir + "/status"); err == nil {
			u.rss += kilobytes(text, "VmRSS:")
			u.peak += kilobytes(text, "VmHWM:")
		}
	}
	return u
}

// kilobytes returns the field of that name in /proc/PID/status, in bytes.
func kilobytes(status []byte, field string) float64 {
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field {
			n, _ := strconv.ParseFloat(f[1], 64)
			return n * 1024
		}
	}
	return 0
}

// dieWithParent has the kernel end the servers of a benchmark that was killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// machine describes the machine of the measurement.
func machine() string {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	model := "unknown CPU"
	for line := range strings.Lines(string(cpu)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	memory, _ := os.ReadFile("/proc/meminfo")
	return fmt.Sprintf("%s, %.0f GiB of memory, Linux %s", model, kilobytes(memory, "MemTotal:")/(1<<30), bytes.TrimSpace(kernel))
}

// loadAverage returns how busy the machine was in the last minute.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
