package query

import (
	"bufio"
	"strconv"
)

// WriteLines prints each point in a line: metric, seconds, value, tags. Points that are not numbers
// are left out. The writer remembers the first error.
func (a *Answer) WriteLines(w *bufio.Writer) {
	var line, tags []byte
	for i := range a.Groups {
		g := &a.Groups[i]
		tags = tags[:0]
		for _, tag := range g.Tags {
			tags = append(append(append(append(tags, ' '), tag.Key...), '='), tag.Value...)
		}
		for j, t := range g.Points.Times {
			if v := g.Points.Values[j]; v != v {
				continue
			}
			line = append(append(line[:0], g.Metric...), ' ')
			line = append(strconv.AppendInt(line, t/1000, 10), ' ')
			line = appendPoint(line, &g.Points, j, false)
			_, _ = w.Write(append(append(line, tags...), '\n'))
		}
	}
}
