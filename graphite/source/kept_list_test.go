package source

import "testing"

func TestListArchive(t *testing.T) {
	const list = "retentions=60:1440,600:1008,3600:8760 method=average xff=0.5 until=1741046400 steps="
	for _, c := range []struct {
		list string
		step uint32
		want string // "" is an error
	}{
		{list + "600,3600", 3600, list + "600,3600"},
		{list + "3600", 600, list + "600,3600"},
		{list, 600, list + "600"},
		{list, 60, ""}, // the finest is points
		{list, 7200, ""},
		{"", 600, ""},
	} {
		got, err := ListArchive(c.list, c.step)
		if (err == nil) != (c.want != "") || err == nil && got != c.want {
			t.Errorf("ListArchive(%q, %d) = %q, %v, want %q", c.list, c.step, got, err, c.want)
		}
	}
}
