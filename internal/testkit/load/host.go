package load

import (
	"fmt"
	"strconv"
)

// SeriesPerHost is the number of series of each host.
const SeriesPerHost = 500

// CPUSeries is how many of these are of node_cpu_seconds_total.
const CPUSeries = 128

// A template contains what distinguishes one series of a host from its others.
type template struct {
	name   string
	kind   kind
	labels []Label
}

var templates = hostTemplates()

// hostTemplates are 225 constants, 90 counters, 80 counters of hundredths, 55 slow counters, 40
// gauges of bytes and 10 of hundredths.
func hostTemplates() []template {
	t := make(templateList, 0, SeriesPerHost)
	for cpu := range 16 {
		for _, m := range []struct {
			mode string
			kind kind
		}{
			{"idle", hundredths},
			{"user", hundredths},
			{"system", hundredths},
			{"iowait", hundredths},
			{"irq", constant},
			{"nice", constant},
			{"softirq", constant},
			{"steal", constant},
		} {
			t.add("node_cpu_seconds_total", m.kind, Label{"cpu", strconv.Itoa(cpu)}, Label{"mode", m.mode})
		}
	}
	for device := range 6 {
		l := Label{"device", "eth" + strconv.Itoa(device)}
		for _, way := range []string{"receive", "transmit"} {
			t.all("node_network_"+way+"_%s_total", counter, []string{"bytes", "packets"}, l)
			t.all("node_network_"+way+"_%s_total", constant, []string{"errs", "drop", "fifo", "frame", "compressed", "multicast"}, l)
		}
	}
	for device := range 4 {
		l := Label{"device", "sd" + string(rune('a'+device))}
		t.all("node_disk_%s_total", counter, []string{
			"reads_completed", "reads_merged", "read_bytes", "writes_completed", "writes_merged", "written_bytes", "discards_completed", "discarded_sectors",
		}, l)
		t.all("node_disk_%s_seconds_total", hundredths, []string{"read_time", "write_time", "io_time", "io_time_weighted"}, l)
	}
	for volume := range 8 {
		l := []Label{
			{"device", "/dev/mapper/vg0-lv" + strconv.Itoa(volume)}, {"fstype", "ext4"}, {"mountpoint", "/data/" + strconv.Itoa(volume)},
		}
		t.all("node_filesystem_%s", pages, []string{"avail_bytes", "free_bytes"}, l...)
		t.all("node_filesystem_%s", constant, []string{"size_bytes", "files", "files_free", "readonly"}, l...)
	}
	t.numbered("node_memory_Field%02d_bytes", pages, 24)
	t.numbered("node_memory_Limit%02d_bytes", constant, 25)
	t.numbered("node_netstat_Tcp_Field%02d", counter, 34)
	t.numbered("node_vmstat_event%02d", slow, 55)
	t.numbered("node_load_field%02d", load, 10)
	t.numbered("node_misc_field%02d", constant, 32)
	return t
}

type templateList []template

func (t *templateList) add(name string, k kind, labels ...Label) {
	*t = append(*t, template{name, k, labels})
}

func (t *templateList) all(format string, k kind, names []string, labels ...Label) {
	for _, name := range names {
		t.add(fmt.Sprintf(format, name), k, labels...)
	}
}

func (t *templateList) numbered(format string, k kind, n int) {
	for i := range n {
		t.add(fmt.Sprintf(format, i), k)
	}
}
