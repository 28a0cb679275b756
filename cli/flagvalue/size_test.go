package flagvalue

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "7B": 7, "2KB": 2000, "2KiB": 2048, "32MiB": 32 << 20, "1GiB": 1 << 30, "3GB": 3e9} {
		n, err := ParseSize(text)
		if err != nil || n != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, n, err, want)
		}
		if back, err := ParseSize(SizeText(n)); err != nil || back != n {
			t.Errorf("%q prints as %q, which is %d, %v", text, SizeText(n), back, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5MiB", "1 MiB", "MiB", "9999999999GiB", "x"} {
		if n, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, n)
		}
	}
}
