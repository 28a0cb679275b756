package admin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// lookUpUID prints the UIDs of a name, or the names of a UID: digits are a UID, as for OpenTSDB's tool. A
// word that begins with 0x is a UID in hexadecimal if it is no name. The exit code is 1 if nothing is found.
func lookUpUID(ctx context.Context, s UIDTables, kinds []storage.NameKind, word string, printLine func(string) error) (code int, err error) {
	if id, err := strconv.ParseUint(word, 10, 63); err == nil {
		return lookUpID(ctx, s, kinds, id, printLine)
	}
	code = exitNothing
	for _, kind := range kinds {
		m, err := s.Names().MappingOf(ctx, kind, word)
		if err == nil {
			code, err = 0, printLine(m.String())
		}
		if _, none := errors.AsType[storage.NoNameError](err); err != nil && !none {
			return 0, err
		}
	}
	if digits, is := strings.CutPrefix(word, "0x"); is && code != 0 {
		if id, err := strconv.ParseUint(digits, 16, 63); err == nil {
			return lookUpID(ctx, s, kinds, id, printLine)
		}
	}
	if code != 0 && len(kinds) == 1 {
		err = query.UnknownNameError{Kind: kinds[0].Plural(), Name: word}
	}
	return code, err
}

// lookUpID prints the names that a number is the UID of.
func lookUpID(ctx context.Context, s UIDTables, kinds []storage.NameKind, id uint64, printLine func(string) error) (code int, err error) {
	code = exitNothing
	fits, widest := false, 0
	for _, kind := range kinds {
		width := s.Layout.Width(kind)
		widest = max(widest, width)
		uid := binary.BigEndian.AppendUint64(nil, id)
		if id>>(8*width) != 0 && width < len(uid) {
			continue
		}
		fits = true
		m, ok, err := s.Names().MappingOfUID(ctx, kind, uid[len(uid)-width:])
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		code = 0
		if err := printLine(m.String()); err != nil {
			return 0, err
		}
	}
	if !fits {
		return code, fmt.Errorf("%d is too large to fit on %d bytes", id, widest)
	}
	return code, nil
}
