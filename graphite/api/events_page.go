package api

import (
	"html"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
)

const htmlType = "text/html; charset=utf-8"

// The pages of events are those of graphite-web's events.html and event.html, with no more than what
// they show.
const (
	pageHead = `<!DOCTYPE html>
<html>
  <head>
    <title>TITLE</title>
    <meta charset="utf-8">
    <style>
      body { font-family: sans-serif; font-size: 16px; margin: 50px; max-width: 1200px; }
      table { border-collapse: collapse; width: 100%; }
      th, td { border: 1px solid #999999; padding: 4px 8px; text-align: left; vertical-align: top; }
    </style>
  </head>
  <body>
    <h1>TITLE</h1>
    <table>
`
	pageEnd = "    </table>\n  </body>\n</html>\n"
	// pageTime is how the pages show times.
	pageTime = "15:04:05 Mon 02 Jan 2006"
)

// writeHead begins a page.
func writeHead(j *pyjson.Writer, title string) {
	j.Text(strings.ReplaceAll(pageHead, "TITLE", html.EscapeString(title)))
}

// writeRow writes a row of a table. The cells are HTML.
func writeRow(j *pyjson.Writer, cell string, cells ...string) {
	j.Text("      <tr>")
	for _, c := range cells {
		j.Text("<" + cell + ">" + c + "</" + cell + ">")
	}
	j.Text("</tr>\n")
	j.Spill()
}

func writeEventList(j *pyjson.Writer, list []events.Event, zone *time.Location) {
	writeHead(j, "graphite events")
	writeRow(j, "th", "when", "what", "tags")
	for i := range list {
		e := &list[i]
		link := `<a href="/events/` + strconv.FormatInt(e.ID, 10) + `">` + html.EscapeString(e.What) + "</a>"
		writeRow(j, "td", eventTime(e, zone), link, html.EscapeString(strings.Join(e.Words(), " ")))
	}
	j.Text(pageEnd)
}

func writeEvent(j *pyjson.Writer, e *events.Event, zone *time.Location) {
	writeHead(j, e.What)
	writeRow(j, "td", "when", eventTime(e, zone))
	writeRow(j, "td", "tags", html.EscapeString(strings.Join(e.Words(), " ")))
	writeRow(j, "td", "data", "<pre>"+html.EscapeString(e.Data)+"</pre>")
	j.Text(pageEnd)
}

func eventTime(e *events.Event, zone *time.Location) string {
	return time.UnixMicro(e.When).In(zone).Format(pageTime)
}
