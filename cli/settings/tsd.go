package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/opentsdb/conf"
)

// tsdKey is what a key of a TSD's configuration file means here.
type tsdKey struct {
	flag string // that it sets; empty: none
	// value converts it, if it is not taken as it is. An empty result sets nothing.
	value func(string) (string, error)
	// fixed means that the tables have the value: another one is an error.
	fixed bool
	// refused says why a value other than "false" or "" cannot be.
	refused string
}

// tsdKeys are the keys that have a meaning. The port is put together of two keys.
func tsdKeys() map[string]tsdKey {
	return map[string]tsdKey{
		"tsd.network.port":                     {},
		"tsd.network.bind":                     {},
		"tsd.rollups.enable":                   {},
		"tsd.rollups.tag_raw":                  {},
		"tsd.rollups.raw_agg_tag_value":        {},
		"tsd.mode":                             {flag: "opentsdb.mode"},
		"tsd.core.auto_create_metrics":         {flag: "opentsdb.auto-create-metrics", value: javaBool},
		"tsd.core.auto_create_tagks":           {flag: "opentsdb.auto-create-tagks", value: javaBool},
		"tsd.core.auto_create_tagvs":           {flag: "opentsdb.auto-create-tagvs", value: javaBool},
		"tsd.core.uid.random_metrics":          {flag: "storage.uid-random-metrics", value: javaBool},
		"tsd.core.connections.limit":           {flag: "opentsdb.max-connections", value: unlessZero},
		"tsd.core.socket.timeout":              {flag: "opentsdb.idle-timeout", value: duration(time.Second)},
		"tsd.core.timezone":                    {flag: "opentsdb.time-zone"},
		"tsd.core.tag.allow_specialchars":      {flag: "opentsdb.allow-special-chars"},
		"tsd.storage.max_tags":                 {flag: "opentsdb.max-tags"},
		"tsd.query.limits.data_points.default": {flag: "opentsdb.max-points"},
		"tsd.query.limits.overrides.config":    {flag: "opentsdb.limits"},
		"tsd.core.histograms.config":           {flag: "opentsdb.histogram-codecs", value: histogramCodecs, fixed: true},
		"tsd.rollups.config":                   {flag: "storage.rollups"}, // unless tsd.rollups.enable is false
		"tsd.rollups.agg_tag_key":              {flag: "opentsdb.rollup-tag"},
		"tsd.rollups.split_query.enable":       {flag: "opentsdb.rollup-split", value: javaBool},
		"tsd.rollups.block_derived":            {flag: "opentsdb.rollup-derived", value: notJavaBool},
		"tsd.http.query.allow_delete":          {flag: "opentsdb.allow-delete", value: javaBool},
		"tsd.http.request.cors_domains":        {flag: "opentsdb.cors-domains"},
		"tsd.http.request.cors_headers":        {flag: "opentsdb.cors-headers"},
		"tsd.query.timeout":                    {flag: "query.timeout", value: duration(time.Millisecond)},
		"tsd.storage.enable_compaction":        {flag: "hbase.compact-after", value: offIfFalse},
		"tsd.storage.hbase.zk_quorum":          {flag: "hbase.zookeeper", value: flagvalue.ParseQuorum},
		"tsd.storage.hbase.zk_basedir":         {flag: "hbase.root"},
		"tsd.storage.hbase.data_table":         {flag: "storage.table.data", fixed: true},
		"tsd.storage.hbase.uid_table":          {flag: "storage.table.uid", fixed: true},
		"tsd.storage.hbase.meta_table":         {flag: "storage.table.meta", fixed: true},
		"tsd.storage.hbase.tree_table":         {flag: "storage.table.tree", fixed: true},
		"tsd.storage.uid.width.metric":         {flag: "storage.uid-width.metric", fixed: true},
		"tsd.storage.uid.width.tagk":           {flag: "storage.uid-width.tagk", fixed: true},
		"tsd.storage.uid.width.tagv":           {flag: "storage.uid-width.tagv", fixed: true},
		"tsd.storage.salt.width":               {flag: "storage.salt.width", fixed: true},
		"tsd.storage.salt.buckets":             {flag: "storage.salt.buckets", fixed: true},
		"tsd.core.authentication.enable":       {refused: "a TSD's authentication plugins do not run here; passwords are set by --web.config.file"},
		"tsd.uidfilter.enable":                 {refused: "a TSD's plugins do not run here, and without its filter every name would get a UID"},
		"tsd.timeseriesfilter.enable":          {refused: "a TSD's plugins do not run here, and without its filter every point would be stored"},
		"hbase.security.auth.enable":           {refused: "HBase is spoken to without Kerberos"},
		"tsd.http.request.enable_chunked":      {}, // always
		"tsd.storage.enable_appends":           {},
		"tsd.storage.repair_appends":           {},
		"tsd.storage.fix_duplicates":           {}, // of two values of an instant the newest is true, always
	}
}

// javaBool reads a boolean as a TSD does: everything but true, 1 and yes is false.
func javaBool(s string) (string, error) {
	if slices.Contains([]string{"true", "1", "yes"}, strings.ToLower(s)) {
		return "true", nil
	}
	return "false", nil
}

// notJavaBool is the opposite of javaBool.
func notJavaBool(s string) (string, error) {
	if on, _ := javaBool(s); on == "true" {
		return "false", nil
	}
	return "true", nil
}

// unlessZero leaves out 0, which is no limit there.
func unlessZero(s string) (string, error) {
	if s == "0" {
		return "", nil
	}
	return s, nil
}

// offIfFalse keeps the default unless the value is false.
func offIfFalse(s string) (string, error) {
	if on, _ := javaBool(s); on == "false" {
		return "0s", nil
	}
	return "", nil
}

func duration(unit time.Duration) func(string) (string, error) {
	return func(s string) (string, error) {
		var n int64
		if _, err := fmt.Sscanf(s+"\n", "%d\n", &n); err != nil || n < 0 || n > int64(1000*24*time.Hour/unit) {
			return "", fmt.Errorf("want a number of %v", unit)
		}
		if n == 0 && unit == time.Millisecond {
			return "", nil // no limit there; here queries always have one
		}
		return (time.Duration(n) * unit).String(), nil
	}
}

// histogramCodecs reads codecs and their ids as a TSD does: JSON, or a file with it.
func histogramCodecs(s string) (string, error) {
	text := []byte(s)
	if strings.HasSuffix(s, ".json") {
		var err error
		if text, err = fsutil.ReadRegular(s); err != nil {
			return "", err
		}
	}
	ids := map[string]int{}
	if err := json.Unmarshal(text, &ids); err != nil {
		return "", fmt.Errorf("want codecs and their ids as JSON, or a file .json with them: %w", err)
	}
	codecs := make([]string, 0, len(ids))
	for class, id := range ids {
		codecs = append(codecs, fmt.Sprintf("%s=%d", strings.TrimPrefix(class, "net.opentsdb.core."), id)) // as the flag's documentation has it
	}
	slices.Sort(codecs)
	return strings.Join(codecs, ","), nil
}

// fromTSD returns the flags that a TSD's configuration file sets and neither the command line nor
// --config.file, whose flags are have. It also returns the keys that mean nothing here.
func fromTSD(path string, have []string) (flags, unused []string, err error) {
	text, err := fsutil.ReadRegular(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--opentsdb.config: %w", err)
	}
	properties, err := conf.Parse(string(text))
	if err != nil {
		return nil, nil, fmt.Errorf("--opentsdb.config=%s: %w", path, err)
	}
	given := map[string]string{}
	for _, flag := range have {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		given[name] = value
	}
	r := tsdReader{given: given, last: map[string]conf.Property{}}
	for _, property := range properties {
		r.last[property.Key] = property
	}
	for _, property := range properties {
		if strings.HasPrefix(property.Key, "tsd.rollups.") && !r.on("tsd.rollups.enable") {
			r.unused = append(r.unused, property.Key)
			continue
		}
		if r.last[property.Key] != property {
			continue // a later line wins
		}
		if err := r.read(property); err != nil {
			return nil, nil, fmt.Errorf("--opentsdb.config=%s: line %d: %s: %w", path, property.Line, property.Key, err)
		}
	}
	r.port()
	if r.on("tsd.rollups.enable") && r.on("tsd.rollups.tag_raw") {
		r.set("opentsdb.rollup-raw-tag", cmp.Or(strings.TrimSpace(r.last["tsd.rollups.raw_agg_tag_value"].Value), "RAW"), true)
	}
	r.set("storage.engine", "hbase", r.last["tsd.storage.hbase.zk_quorum"].Value != "")
	r.appends()
	return r.flags, r.unused, nil
}

// tsdReader turns properties into flags.
type tsdReader struct {
	given  map[string]string
	last   map[string]conf.Property
	flags  []string
	unused []string
}

func (r *tsdReader) read(property conf.Property) error {
	key, known := tsdKeys()[property.Key]
	value := strings.TrimSpace(property.Value)
	switch {
	case !known:
		r.unused = append(r.unused, property.Key)
		return nil
	case key.refused != "":
		if on, _ := javaBool(value); on == "true" {
			return fmt.Errorf("%s", key.refused)
		}
		return nil
	case key.flag == "" || value == "":
		return nil
	}
	if key.value != nil {
		var err error
		if value, err = key.value(value); err != nil {
			return fmt.Errorf("%q: %w", property.Value, err)
		}
	}
	if other, ok := r.given[key.flag]; ok && key.fixed && other != value {
		return fmt.Errorf("it is %s, but --%s is %s; the tables have one of both", value, key.flag, other)
	}
	values := []string{value}
	if key.flag == "opentsdb.cors-domains" {
		values = strings.Split(value, ",")
	}
	if _, ok := r.given[key.flag]; !ok {
		for _, v := range values {
			r.set(key.flag, strings.TrimSpace(v), v != "")
		}
	}
	return nil
}

// on reports whether a key is true.
func (r *tsdReader) on(key string) bool {
	value, _ := javaBool(strings.TrimSpace(r.last[key].Value))
	return value == "true"
}

// port sets the address, which a TSD has in two keys.
func (r *tsdReader) port() {
	bind, port := strings.TrimSpace(r.last["tsd.network.bind"].Value), strings.TrimSpace(r.last["tsd.network.port"].Value)
	if bind == "0.0.0.0" {
		bind = ""
	}
	r.set("opentsdb.listen-address", net.JoinHostPort(bind, port), port != "")
}

// appends has rows kept in append cells, as the TSDs keep them. TSDs that repair these write back what
// they read some time before, which would undo a write of ours.
func (r *tsdReader) appends() {
	if !r.on("tsd.storage.enable_appends") {
		return
	}
	engine, given := r.given["storage.engine"]
	if onHBase := engine == "hbase" || !given && r.last["tsd.storage.hbase.zk_quorum"].Value != ""; !onHBase || r.on("tsd.storage.repair_appends") {
		r.unused = append(r.unused, "tsd.storage.enable_appends")
		return
	}
	r.set("hbase.append-cells", "true", true)
}

func (r *tsdReader) set(flag, value string, wanted bool) {
	if _, ok := r.given[flag]; !ok && wanted {
		r.flags = append(r.flags, "--"+flag+"="+value)
	}
}

// GivenFlags returns the flags of a command line with their values.
func GivenFlags(given *kingpin.ParseContext) (flags []string) {
	for _, e := range given.Elements {
		f, ok := e.Clause.(*kingpin.FlagClause)
		if !ok {
			continue
		}
		value := "true"
		if e.Value != nil {
			value = *e.Value
		}
		flags = append(flags, "--"+f.Model().Name+"="+value)
	}
	return flags
}
