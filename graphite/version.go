package graphite

// webVersion is the graphite-web whose answers these are: Grafana chooses by it what to ask for.
const webVersion = "1.1.10"

// version answers /version.
func (a *api) version(*request) (*reply, error) {
	return &reply{contentType: "text/html; charset=utf-8", write: func(j *jsonWriter) { j.text(webVersion + "\n") }}, nil
}
