package formats

import (
	"encoding/hex"
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pickle"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// encoded returns what a format writes for some series.
func encoded(write func(*pyjson.Writer, []*series.Series, *time.Location), list []*series.Series) []byte {
	w := httptest.NewRecorder()
	j := pyjson.New(w)
	write(j, list, time.UTC)
	j.Flush()
	return w.Body.Bytes()
}

// TestPickleFormat: Python's opcodes say of each series what graphite-web's servers tell each other, for
// more series and values than one piece of the body holds.
func TestPickleFormat(t *testing.T) {
	values := make([]float64, 20_000)
	for i := range values {
		if values[i] = float64(i) / 8; i%10 == 0 {
			values[i] = math.NaN()
		}
	}
	list := []*series.Series{
		{Name: "a.ж", PathExpression: "a.*", Start: 1741050010, End: 1741250010, Step: 10, Values: values, ConsolidationFunc: "max", XFilesFactor: 0.5},
		{Unnamed: true, Start: 1 << 33, End: 1<<33 + 10, Step: 10, Values: []float64{math.Inf(-1)}},
		{Name: "none"},
	}
	text := encoded(writePickle, list)
	var d pickle.Decoder
	got, err := d.Decode(text)
	if err != nil || len(d.Items(got)) != len(list) {
		t.Fatal(got.Kind(), err)
	}
	for i, item := range d.Items(got) {
		members := d.Items(item)
		if len(members) != 18 {
			t.Fatalf("series %d has %d members", i, len(members)/2)
		}
		name := d.Text(members[1])
		want := list[i]
		if string(name) != TextName(want) || int64(members[3].Number()) != want.Start || int64(members[5].Number()) != want.End || int64(members[7].Number()) != want.Step {
			t.Errorf("series %d: %s from %v to %v by %v", i, name, members[3].Number(), members[5].Number(), members[7].Number())
		}
		shown := d.Items(members[9])
		if len(shown) != len(want.Values) {
			t.Fatalf("series %d has %d values", i, len(shown))
		}
		for n, v := range want.Values {
			if none := shown[n].Kind() == pickle.None; none != math.IsNaN(v) || !none && shown[n].Number() != v {
				t.Fatalf("series %d: value %d is %v", i, n, shown[n])
			}
		}
		method := d.Text(members[15])
		if i == 0 && string(method) != "max" || i > 0 && string(method) != "average" || members[17].Number() != want.XFilesFactor {
			t.Errorf("series %d: %s, %v", i, method, members[17].Number())
		}
	}
}

// TestMsgpackFormat compares the bytes with those of the specification.
func TestMsgpackFormat(t *testing.T) {
	long := strings.Repeat("n", 40)
	list := []*series.Series{{Name: "a", PathExpression: long, Start: 1, End: -2, Step: 3, Values: []float64{1.5, math.NaN()}, XFilesFactor: 0.25}}
	str := func(s string) string {
		return hex.EncodeToString([]byte{0xa0 | byte(len(s))}) + hex.EncodeToString([]byte(s))
	}
	integer := func(n int64) string { return fmt.Sprintf("d3%016x", uint64(n)) }
	float := func(v float64) string { return fmt.Sprintf("cb%016x", math.Float64bits(v)) }
	want := "91" + "89" + str("name") + str("a") + str("start") + integer(1) + str("end") + integer(-2) + str("step") + integer(3) +
		str("values") + "92" + float(1.5) + "c0" + str("pathExpression") + "db00000028" + hex.EncodeToString([]byte(long)) +
		str("valuesPerPoint") + integer(1) + str("consolidationFunc") + str("average") + str("xFilesFactor") + float(0.25)
	if got := hex.EncodeToString(encoded(writeMsgpack, list)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	many := encoded(writeMsgpack, make16(list[0]))
	if got := hex.EncodeToString(many[:6]); got != "dd0000001089" {
		t.Errorf("16 series begin with %s", got)
	}
}

func make16(s *series.Series) []*series.Series {
	list := make([]*series.Series, 16)
	for i := range list {
		list[i] = s
	}
	return list
}
