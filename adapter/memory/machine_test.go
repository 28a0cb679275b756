package memory

import (
	"testing"
	"testing/fstest"
)

func TestMemoryOf(t *testing.T) {
	const meminfo = "MemTotal:        8000000 kB\nMemFree:          100 kB\n"
	const machine = 8000000 << 10
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known": {nil, unknownMemory},
		"machine":       {map[string]string{"proc/meminfo": meminfo}, machine},
		"version 2": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000000\n",
		}, 1000000},
		"version 2 in a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000000\n",
		}, 2000000},
		"version 1 without a limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/cpu,cpuacct/x/memory.limit_in_bytes": "1\n",
		}, machine},
		"version 1, path of the host": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:hugetlb,memory:/docker/abc\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "3000000",
		}, 3000000},
		"a limit above the machine": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999\n",
		}, machine},
		"damaged": {map[string]string{"proc/meminfo": "MemTotal: x kB\n", "proc/self/cgroup": "\n:\n0::../..\n"}, unknownMemory},
	} {
		files := fstest.MapFS{}
		for file, text := range c.files {
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryOf(files); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

func TestMachine(t *testing.T) {
	if n := Machine(); n < 16<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}
