package memory

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// unknownMemory is assumed for a machine that does not report its memory, in bytes.
const unknownMemory = 4 << 30

// Machine returns how many bytes this process may use: the machine's memory, or the limit of
// a cgroup if that is less.
func Machine() int64 { return memoryOf(os.DirFS("/")) }

// memoryOf is Machine for a Linux machine with these files.
func memoryOf(files fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, n := range append(cgroupLimits(files), totalMemory(files)) {
		if n > 0 {
			least = min(least, n)
		}
	}
	// A cgroup of version 1 without a limit reports nearly the largest int64.
	if least >= math.MaxInt64/2 {
		return unknownMemory
	}
	return least
}

// totalMemory returns the machine's memory, 0 if it is not known.
func totalMemory(files fs.FS) int64 {
	text, _ := fs.ReadFile(files, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 53)
			return kib << 10
		}
	}
	return 0
}

// cgroupLimits returns the limits of the process' cgroup and of its parents, in either version.
func cgroupLimits(files fs.FS) []int64 {
	text, _ := fs.ReadFile(files, "proc/self/cgroup")
	var limits []int64
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "":
			limits = append(limits, limitsUpwards(files, "sys/fs/cgroup", group, "memory.max")...)
			limits = append(limits, limitsUpwards(files, "sys/fs/cgroup/unified", group, "memory.max")...)
		case strings.Contains(","+controllers+",", ",memory,"):
			limits = append(limits, limitsUpwards(files, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes")...)
		}
	}
	return limits
}

// limitsUpwards returns the limits of a group and of its parents. In a container the path of the
// group may not exist; then the limit is at the root.
func limitsUpwards(files fs.FS, root, group, name string) []int64 {
	var limits []int64
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, _ := fs.ReadFile(files, path.Join(root, group, name))
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil {
			limits = append(limits, n) // "max" means no limit
		}
		if group == "/" {
			return limits
		}
	}
}
