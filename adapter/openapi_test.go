package adapter

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/pb33f/libopenapi/datamodel"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/opentsdb/api"
)

// An apiDescription is docs/openapi.yaml, or another description of an API.
type apiDescription map[string]any

func readDescription(t *testing.T, text []byte) apiDescription {
	t.Helper()
	var doc map[string]any // not the named type, which would be that of all maps in it
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v\n%.200s", err, text)
	}
	return doc
}

func ourDescription(t *testing.T) apiDescription {
	t.Helper()
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return readDescription(t, text)
}

// operations returns the operations by path and method.
func (d apiDescription) operations() map[string]map[string]any {
	all := map[string]map[string]any{}
	for path, item := range d["paths"].(map[string]any) {
		all[path] = map[string]any{}
		for method, operation := range item.(map[string]any) {
			all[path][strings.ToUpper(method)] = operation
		}
	}
	return all
}

// described returns the paths, whose parameters are {}.
func (d apiDescription) described() map[string]string {
	all := map[string]string{}
	for path := range d.operations() {
		all[shape(path)] = path
	}
	return all
}

// shape replaces the parameters of a path by {}.
func shape(path string) string { return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "{}") }

// TestOpenAPIRoutes: what the router serves is in docs/openapi.yaml, and what is there is served.
func TestOpenAPIRoutes(t *testing.T) {
	ours := ourDescription(t)
	described := ours.described()
	o := DefaultOptions()
	o.Engine, o.AdminAPI = tables.EngineMemory, true
	a, _ := runAdapter(t, o)
	handler, err := a.routes(a.live.Load())
	if err != nil {
		t.Fatal(err)
	}
	router := handler.(chi.Router)
	var routes []string
	if err := chi.Walk(router, func(_, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routes = append(routes, route)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, route := range slices.Compact(slices.Sorted(slices.Values(routes))) {
		if !isDescribed(described, route) {
			t.Errorf("the route %s is not in docs/openapi.yaml", route)
		}
	}
	for _, endpoint := range api.Endpoints() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(described)), func(path string) bool { return strings.HasPrefix(path+"/", "/api/"+endpoint+"/") }) {
			t.Errorf("OpenTSDB's endpoint %s is not in docs/openapi.yaml", endpoint)
		}
	}
	for path, methods := range ours.operations() {
		for method, operation := range methods {
			served := router.Match(chi.NewRouteContext(), method, strings.ReplaceAll(shape(path), "{}", "1"))
			if !served && !strings.Contains(operation.(map[string]any)["summary"].(string), "(OpenTSDB port only") {
				t.Errorf("nothing serves %s %s of docs/openapi.yaml", method, path)
			}
		}
	}
}

// isDescribed reports whether a route of the router is described: a path, or for a wildcard one below it.
func isDescribed(described map[string]string, route string) bool {
	if route != "/" {
		route = strings.TrimSuffix(route, "/") // a slash at the end makes no difference
	}
	if below, wild := strings.CutSuffix(route, "*"); wild {
		return slices.ContainsFunc(slices.Collect(maps.Keys(described)), func(path string) bool {
			return strings.HasPrefix(path+"/", below)
		})
	}
	ok := described[shape(route)] != "" || described[shape(route)+"/"] != ""
	endpoint, isTSD := strings.CutPrefix(route, "/api/")
	return ok || isTSD && slices.Contains(api.Endpoints(), endpoint) && isDescribed(described, route+"/*")
}

// TestOpenAPIOfPrometheus: each path of the Prometheus module's API that is served here is described.
func TestOpenAPIOfPrometheus(t *testing.T) {
	described := ourDescription(t).described()
	o := DefaultOptions()
	o.Engine = tables.EngineMemory
	a, _ := runAdapter(t, o)
	_, _, text := a.post(t, "/openapi.yaml", nil)
	found := 0
	for path := range readDescription(t, []byte(text)).operations() {
		found++
		if described["/api/v1"+shape(path)] != "" {
			continue
		}
		status, _, answer := a.post(t, strings.NewReplacer("{", "", "}", "").Replace(path), nil)
		if status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			t.Errorf("/api/v1%s answers %d and is not in docs/openapi.yaml: %.100s", path, status, answer)
		}
	}
	if found < 20 {
		t.Errorf("the module describes only %d paths", found)
	}
}

// TestOpenAPIAnswers: docs/openapi.yaml is valid, and answers of an adapter with data fit its schemas.
func TestOpenAPIAnswers(t *testing.T) {
	ours := ourDescription(t)
	schemas := jsonschema.NewCompiler()
	ours.validate(t, schemas)
	o := DefaultOptions()
	o.Engine, o.AdminAPI, o.OpenTSDB.AllowEdits = tables.EngineMemory, true, true
	o.OpenTSDB.ListenAddress = "127.0.0.1:0"
	a, _ := runAdapter(t, o)
	now := time.Now().Unix()
	put := fmt.Sprintf(`[{"metric":"sys.cpu","timestamp":%d,"value":1.5,"tags":{"host":"a"}},{"metric":"sys.cpu","timestamp":%d,"value":2,"tags":{"host":"b"}}]`, now-60, now-60)
	web, tsd := "http://"+a.Addr(), "http://"+a.opentsdb.Addr()
	for _, c := range []struct{ base, method, path, kind, body string }{
		{tsd, "POST", "/api/put?details", "application/json", put},
		{web, "POST", "/events", "application/json", `{"what":"deploy","tags":["web"]}`},
		{web, "GET", "/api/v1/query?query=%7B%22sys.cpu%22%7D", "", ""},
		{web, "POST", "/api/v1/query", "application/x-www-form-urlencoded", "query=sum(%7B%22sys.cpu%22%7D)"},
		{web, "GET", fmt.Sprintf("/api/v1/query_range?query=%%7B%%22sys.cpu%%22%%7D&start=%d&end=%d&step=30", now-120, now), "", ""},
		{web, "GET", "/api/v1/query?query=up%7B", "", ""},
		{web, "GET", "/api/v1/series?match%5B%5D=%7B__name__%3D~%22.%2B%22%7D", "", ""},
		{web, "GET", "/api/v1/labels", "", ""},
		{web, "GET", "/api/v1/label/host/values", "", ""},
		{web, "GET", "/api/v1/metadata", "", ""},
		{web, "GET", "/api/v1/status/tsdb", "", ""},
		{web, "GET", "/api/v1/status/buildinfo", "", ""},
		{web, "GET", "/api/v1/status/flags", "", ""},
		{web, "GET", "/api/v1/status/plan?match%5B%5D=up", "", ""},
		{web, "GET", "/api/v1/status/explain?query=up", "", ""},
		{web, "GET", "/api/v1/status/selected?match%5B%5D=%7B%22sys.cpu%22%7D", "", ""},
		{web, "GET", "/api/v1/status/phrases?language=promql&query=up", "", ""},
		{web, "GET", "/api/v1/status/queries", "", ""},
		{web, "GET", "/api/v1/status/slow_queries", "", ""},
		{web, "GET", "/api/v1/status/log", "", ""},
		{web, "GET", "/api/v1/status/leases", "", ""},
		{web, "GET", "/api/v1/status/trees", "", ""},
		{web, "GET", "/api/v1/status/trees/browse", "", ""},
		{web, "GET", "/render?target=seriesByTag('name=sys.cpu')&format=json&from=-5min", "", ""},
		{web, "GET", "/metrics/find?query=*", "", ""},
		{web, "GET", "/metrics/expand?query=*", "", ""},
		{web, "GET", "/metrics/index.json", "", ""},
		{web, "GET", "/tags", "", ""},
		{web, "GET", "/tags/findSeries?expr=name%3Dsys.cpu", "", ""},
		{web, "GET", "/tags/autoComplete/tags", "", ""},
		{web, "GET", "/functions/alias", "", ""},
		{web, "GET", "/events/get_data", "", ""},
		{web, "GET", "/api/query?start=5m-ago&m=sum:sys.cpu%7Bhost%3D*%7D", "", ""},
		{web, "POST", "/api/query", "application/json", `{"start":"5m-ago","queries":[{"aggregator":"sum","metric":"sys.cpu"}]}`},
		{web, "GET", "/api/query?start=5m-ago&m=nonsense", "", ""},
		{web, "GET", "/api/suggest?type=metrics", "", ""},
		{web, "GET", "/api/aggregators", "", ""},
		{web, "GET", "/api/version", "", ""},
		{web, "GET", "/api/search/lookup?m=sys.cpu", "", ""},
		{web, "GET", "/api/tree", "", ""},
		{web, "GET", "/-/ready", "", ""},
		{web, "GET", "/-/healthy", "", ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			ours.checkAnswer(t, schemas, c.method, c.base, c.path, c.kind, c.body)
		})
	}
}

// descriptionURL is where the compiler of schemas finds the description.
const descriptionURL = "http://localhost/openapi.json"

// validate compares the description with the schema of OpenAPI 3.1, and adds it to a compiler with closed schemas.
func (d apiDescription) validate(t *testing.T, schemas *jsonschema.Compiler) {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData))
	if err != nil {
		t.Fatal(err)
	}
	const schemaURL = "http://localhost/schema.json"
	if err := schemas.AddResource(schemaURL, schema); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d) // numbers as JSON has them
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schemas.Compile(schemaURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(doc); err != nil {
		t.Errorf("docs/openapi.yaml: %v", err)
	}
	closeSchemas(doc.(map[string]any)["components"].(map[string]any)["schemas"])
	if err := schemas.AddResource(descriptionURL, doc); err != nil {
		t.Fatal(err)
	}
}

// closeSchemas has the schemas allow no fields but those that they name, so that the tests find a field of an answer
// that nothing describes. Clients should accept more: later versions may answer more.
func closeSchemas(value any) {
	switch v := value.(type) {
	case map[string]any:
		_, names := v["properties"].(map[string]any)
		if _, open := v["additionalProperties"]; names && !open && v["type"] != nil && !isReply(v) {
			v["additionalProperties"] = false
		}
		for _, below := range v {
			closeSchemas(below)
		}
	case []any:
		for _, below := range v {
			closeSchemas(below)
		}
	}
}

// isReply reports whether a schema is PromReply, to which each answer adds its data.
func isReply(schema map[string]any) bool {
	status, _ := schema["properties"].(map[string]any)["status"].(map[string]any)
	return status["const"] == "success"
}

// checkAnswer sends a request, and compares its answer with the description.
func (d apiDescription) checkAnswer(t *testing.T, schemas *jsonschema.Compiler, method, base, path, kind, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		t.Fatalf("%d: %v", answer.StatusCode, err)
	}
	pointer := d.schemaOf(t, r.URL.Path, method, answer.StatusCode, media)
	compiled, err := schemas.Compile(descriptionURL + "#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range valuesOf(t, media, text) {
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%d: %v\n%.400s", answer.StatusCode, err, text)
		}
	}
}

// valuesOf returns what a schema describes: a value of JSON, each line of several, or a text.
func valuesOf(t *testing.T, media string, text []byte) []any {
	t.Helper()
	var values []any
	switch media {
	case "application/json":
		values = append(values, decodeJSON(t, text))
	case "application/x-ndjson":
		for line := range bytes.Lines(text) {
			values = append(values, decodeJSON(t, line))
		}
	default:
		values = append(values, string(text))
	}
	if len(values) == 0 {
		t.Error("the answer has no lines")
	}
	return values
}

func decodeJSON(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	return value
}

// schemaOf returns the place of the schema of an answer in the description.
func (d apiDescription) schemaOf(t *testing.T, path, method string, status int, media string) string {
	t.Helper()
	operations := d.operations()
	template := path
	if operations[path] == nil {
		for known := range operations {
			if regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(shape(known)), `\{\}`, "[^/]+") + "$").MatchString(path) {
				template = known
			}
		}
	}
	operation, ok := operations[template][method].(map[string]any)
	if !ok {
		t.Fatalf("%s %s is not described", method, path)
	}
	responses := operation["responses"].(map[string]any)
	key := strconv.Itoa(status)
	if responses[key] == nil {
		key = "default"
	}
	response, ok := responses[key].(map[string]any)
	if !ok {
		t.Fatalf("%s %s: status %d is not described", method, path, status)
	}
	place := "/paths/" + escapePointer(template) + "/" + strings.ToLower(method) + "/responses/" + key
	if to, ok := response["$ref"].(string); ok {
		place = strings.TrimPrefix(to, "#")
		response = d["components"].(map[string]any)["responses"].(map[string]any)[to[strings.LastIndex(to, "/")+1:]].(map[string]any)
	}
	if content, _ := response["content"].(map[string]any); content[media] == nil {
		t.Fatalf("%s %s: %d with %s is not described", method, path, status, media)
	}
	return place + "/content/" + escapePointer(media) + "/schema"
}

func escapePointer(name string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}

// rewrite has the tests write the pages that are made of the code.
var rewrite = flag.Bool("rewrite", false, "rewrite the pages of the API and of the metrics")

// apiPage is the list of all paths, made from the description: go test ./adapter -run OpenAPIPage -rewrite.
const apiPage = "../docs/api.md"

func TestOpenAPIPage(t *testing.T) {
	want := ourDescription(t).page()
	if *rewrite {
		if err := os.WriteFile(apiPage, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/api.md differs from docs/openapi.yaml; go test ./adapter -run OpenAPIPage -rewrite (-description +page):\n%s", diff)
	}
}

// page renders the description as Markdown: a table of each tag's paths.
func (d apiDescription) page() string {
	var b strings.Builder
	b.WriteString(`# The HTTP API

<!-- Made from docs/openapi.yaml: go test ./adapter -run OpenAPIPage -rewrite -->

[openapi.yaml](openapi.yaml) describes all endpoints in OpenAPI 3.1, with parameters and answers. This page lists them. Tests compare the
description with the routes of the program, and with real answers.

Endpoints of Prometheus, Graphite, status and admin are on the HTTP port (` + "`--web.listen-address`" + `, 9201). Those of OpenTSDB are on that port too,
unless they are marked, and on the OpenTSDB port (` + "`--opentsdb.listen-address`" + `). With ` + "`--web.config.file`" + ` all need the password:
[Security](security.md). [HTTP statuses](statuses.md) has the errors.

`)
	operations := d.operations()
	for _, tag := range d["tags"].([]any) {
		name := tag.(map[string]any)["name"].(string)
		title, about, _ := strings.Cut(tag.(map[string]any)["description"].(string), ": ")
		fmt.Fprintf(&b, "## %s\n\n", title)
		if about != "" {
			fmt.Fprintf(&b, "%s%s.\n\n", strings.ToUpper(about[:1]), about[1:])
		}
		b.WriteString("| path | methods | |\n|---|---|---|\n")
		for _, path := range slices.Sorted(maps.Keys(operations)) {
			writeRows(&b, name, path, operations[path])
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// writeRows writes a row for each summary that a path has with a tag.
func writeRows(b *strings.Builder, tag, path string, methods map[string]any) {
	bySummary := map[string][]string{}
	for method, operation := range methods {
		o := operation.(map[string]any)
		if o["tags"].([]any)[0] == tag {
			summary := o["summary"].(string)
			bySummary[summary] = append(bySummary[summary], method)
		}
	}
	for _, summary := range slices.Sorted(maps.Keys(bySummary)) {
		slices.Sort(bySummary[summary])
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, strings.Join(bySummary[summary], ", "), strings.ReplaceAll(summary, "|", `\|`))
	}
}
