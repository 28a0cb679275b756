package storage

import (
	"errors"
	"fmt"
	"strings"
)

// ErrName means that a name cannot be stored.
var ErrName = errors.New("name cannot be stored")

// A NoNameOfUIDError is a UID that has no name: the table has no reverse row of it.
type NoNameOfUIDError struct {
	Kind NameKind
	UID  string // raw bytes
}

// Error has the words of a TSD, which shows the bytes as Java's: -128 to 127.
func (e NoNameOfUIDError) Error() string {
	return fmt.Sprintf("No such unique ID for '%s': %s", e.Kind.Plural(), JavaBytes([]byte(e.UID)))
}

// A NoNameError is a rename, or a deletion, of a name that has no UID. Its text is a TSD's.
type NoNameError struct{ Name string }

// Error implements error.
func (e NoNameError) Error() string { return fmt.Sprintf("Name(\"%s\") does not exist", e.Name) }

// A NameTakenError is a rename to a name that has a UID. Its text is a TSD's.
type NameTakenError struct {
	Table    string
	Kind     NameKind
	From, To string
	UID      []byte // of To
}

// Error implements error.
func (e NameTakenError) Error() string {
	return fmt.Sprintf("When trying rename(\"%s\", \"%s\") on UniqueId(%s, %s, %d): new name already assigned ID=%s",
		e.From, e.To, e.Table, e.Kind.Plural(), len(e.UID), JavaBytes(e.UID))
}

// ErrRenaming means that a UID is being renamed otherwise, by another process or by one that was
// interrupted.
var ErrRenaming = errors.New("Ongoing rename") //nolint:staticcheck // it begins with a TSD's words

// A UsedError is a deletion of a UID that series have.
type UsedError struct{ Mapping Mapping }

// Error implements error.
func (e UsedError) Error() string {
	return fmt.Sprintf("series have the %s %q: delete them first, or they will have no name", e.Mapping.Kind, e.Mapping.Name)
}

// A NamelessError is a UID that has no name although series have it: its reverse row was deleted from
// tsdb-uid. It is an ErrUnreadable: an answer without such series would be too small.
type NamelessError struct {
	NoNameOfUIDError
	Metric string // of a series that has the UID; "": it is not known
	TSUID  string // of that series, in hexadecimal; "": it is not known
}

// Error begins with the words of a TSD.
func (e NamelessError) Error() string {
	of := ""
	if e.Metric != "" {
		of = fmt.Sprintf(" of a series of %q", e.Metric)
	}
	if e.TSUID != "" {
		of += " (TSUID " + e.TSUID + ")"
	}
	return fmt.Sprintf("%s: the %v UID %X%s has no name in tsdb-uid; tsdbridge uid fsck --fix restores the name if it can be known, "+
		"and tsdbridge fsck --fix=unknown-uid deletes what has none", e.NoNameOfUIDError, e.Kind, e.UID, of)
}

// Unwrap returns the error of the UID.
func (e NamelessError) Unwrap() error { return e.NoNameOfUIDError }

// Is implements errors.Is.
func (NamelessError) Is(target error) bool { return target == ErrUnreadable }

// LostMark begins a lost value, which stands for the value of a tag that has no name: a character that no name has, and the
// bytes of the UID. Values of different UIDs differ.
const LostMark = "\x00"

// LostValue returns the error of a tag's value that stands for a UID without a name, as FindLost returns
// them; nil for others.
func LostValue(value string) error {
	if !strings.HasPrefix(value, LostMark) {
		return nil
	}
	return NamelessError{NoNameOfUIDError: NoNameOfUIDError{Kind: TagValueName, UID: value[len(LostMark):]}}
}

// LostName returns the error of a series that has a lost value; nil if it has none.
func LostName(s *Series) error {
	for _, tag := range s.Tags {
		if err := LostValue(tag.Value); err != nil {
			lost, _ := errors.AsType[NamelessError](err)
			lost.Metric = s.Metric
			return lost
		}
	}
	return nil
}
