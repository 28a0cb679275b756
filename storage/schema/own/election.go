package own

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Elections lie in tsdb-tree beside the leases, in rows that no TSD reads.
const (
	electionPrefix = "\x00\x00tsdbridge.elected:"
	// ElectionQualifier is the column of an election.
	ElectionQualifier = "tsdbridge.election"
)

// ElectionKey is the row of the election of a name.
func ElectionKey(name string) []byte { return append([]byte(electionPrefix), name...) }

// ElectionRecord returns an election in the form that ParseElection reads.
func ElectionRecord(e storage.Election) []byte {
	return fmt.Appendf(nil, "elected=%x since=%d heard=%d", e.Elected, e.Since, e.Heard)
}

// ParseElection reads a record. Fields of later versions are passed over.
func ParseElection(record []byte) (e storage.Election, err error) {
	for field := range strings.FieldsSeq(string(record)) {
		key, value, ok := strings.Cut(field, "=")
		if ok {
			err = setElection(&e, key, value)
		}
		if !ok || err != nil {
			return storage.Election{}, fmt.Errorf("election %q: field %q is not understood", schema.Clip(record), field)
		}
	}
	return e, nil
}

func setElection(e *storage.Election, key, value string) (err error) {
	switch key {
	case "elected":
		var elected []byte
		elected, err = hex.DecodeString(value)
		e.Elected = string(elected)
	case "since":
		e.Since, err = strconv.ParseInt(value, 10, 64)
	case "heard":
		e.Heard, err = strconv.ParseInt(value, 10, 64)
	}
	return err
}
