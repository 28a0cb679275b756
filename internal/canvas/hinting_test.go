package canvas

import (
	"bufio"
	"fmt"
	"image"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestAdvances: letters are as far apart as cairo sets them for graphite-web; see testdata/advances.py.
func TestAdvances(t *testing.T) {
	file, err := os.Open("testdata/advances.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fonts := 0
	for lines := bufio.NewScanner(file); lines.Scan(); fonts++ {
		var family string
		var bold, size int
		if _, err := fmt.Sscan(lines.Text(), &family, &bold, &size); err != nil {
			t.Fatal(err)
		}
		f, err := NewFont(Typeface{Family: family, Bold: bold == 1}, float64(size), true)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range strings.Fields(lines.Text())[3:] {
			letter := string(rune('!' + i))
			if got := strconv.Itoa(int(f.Width(letter, true))); got != want {
				t.Errorf("%s, bold %d, size %d: %s is %s wide, cairo's %s", family, bold, size, letter, got, want)
			}
		}
	}
	if fonts != 48 {
		t.Errorf("%d fonts", fonts)
	}
}

// TestMissingLetters: a letter that the fonts lack has a place and a box, and so have letters whose instructions cannot
// be followed.
func TestMissingLetters(t *testing.T) {
	for _, hinted := range []bool{true, false} {
		for _, face := range []Typeface{{Family: "sans-serif"}, {Family: "monospace", Bold: true}, {Family: "serif", Italic: true}} {
			f, err := NewFont(face, 12, hinted)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"漢", "🎉", "데", "\ufffd", "\u202e", "\x01", "\U0010ffff"} {
				if w := f.Width(text, hinted); w < 0 || w > 24 {
					t.Errorf("%v: %q is %v wide", face, text, w)
				}
			}
			if box := f.outline("漢", Point{20, 20}, 0, hinted, image.Rect(0, 0, 100, 100)); box.empty() || f.Width("漢", hinted) < 4 {
				t.Errorf("%v: no box for a letter that is missing", face)
			}
			for r := range rune(0x3000) {
				f.Width(string(r), hinted)
			}
		}
	}
}
