//go:build !linux

package main

import (
	"runtime"
	"syscall"
)

// Only Linux has the /proc that processes are measured with.

type usage struct{ cpu, rss, peak float64 }

func usageOf(...int) usage { return usage{} }

func dieWithParent() *syscall.SysProcAttr { return nil }

func machine() string {
	return runtime.GOOS + "/" + runtime.GOARCH + " (CPU and memory are not measured here)"
}

func loadAverage() string { return "unknown" }
