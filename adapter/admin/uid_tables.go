package admin

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// UIDCommand is a command about UIDs.
type UIDCommand string

// The commands about UIDs, as OpenTSDB's tool has them.
const (
	UIDGrep   UIDCommand = "grep"
	UIDAssign UIDCommand = "assign"
	UIDRename UIDCommand = "rename"
	UIDDelete UIDCommand = "delete"
	UIDFsck   UIDCommand = "fsck"
	UIDLookup UIDCommand = "lookup" // there without a word of its own
	UIDPurge  UIDCommand = "treepurge"
)

// A UIDRequest is a command about UIDs with its arguments and flags.
type UIDRequest struct {
	Command UIDCommand `json:"command"`
	Kind    string     `json:"kind,omitempty"` // metrics, tagk or tagv; grep, lookup: "" is all
	// Names are those to assign; the name to delete; the old and the new name; the pattern; the name or UID to
	// look up; the id of a tree.
	Names         []string `json:"names,omitempty"`
	IgnoreCase    bool     `json:"ignoreCase,omitempty"`    // grep: --ignore-case
	Force         bool     `json:"force,omitempty"`         // delete: --force
	Fix           bool     `json:"fix,omitempty"`           // fsck: --fix
	DeleteUnknown bool     `json:"deleteUnknown,omitempty"` // fsck: --delete-unknown
	Definition    bool     `json:"definition,omitempty"`    // treepurge: the definition of the tree too
	Yes           bool     `json:"yes,omitempty"`           // treepurge: --yes
}

// kinds are those that a command is about.
func (u *UIDRequest) kinds() ([]storage.NameKind, error) {
	if u.Kind == "" && (u.Command == UIDGrep || u.Command == UIDFsck || u.Command == UIDLookup || u.Command == UIDPurge) {
		all := storage.NameKinds()
		return all[:], nil
	}
	kind, err := storage.ParseNameKind(u.Kind)
	if err != nil {
		return nil, fmt.Errorf("%s: want metrics, tagk or tagv", u.Kind)
	}
	return []storage.NameKind{kind}, nil
}

// Validate names what cannot work.
func (u *UIDRequest) Validate() error {
	if _, err := u.kinds(); err != nil {
		return err
	}
	names := map[UIDCommand][2]int{UIDGrep: {1, 1}, UIDAssign: {1, maxUIDNames}, UIDRename: {2, 2}, UIDDelete: {1, 1}, UIDFsck: {0, 0}, UIDLookup: {1, 1}, UIDPurge: {1, 1}}
	bounds, ok := names[u.Command]
	switch {
	case !ok:
		return fmt.Errorf("%s: no such command", u.Command)
	case len(u.Names) < bounds[0] || len(u.Names) > bounds[1]:
		return fmt.Errorf("%s: %d names", u.Command, len(u.Names))
	case u.Command == UIDGrep:
		_, err := u.pattern()
		return err
	case u.Command == UIDPurge:
		_, err := u.treeID()
		return err
	case u.DeleteUnknown && !u.Fix:
		return errors.New("--delete-unknown deletes only together with --fix")
	}
	return nil
}

// maxUIDNames bounds the names of one command.
const maxUIDNames = 100_000

// pattern is that of grep, which may match anywhere in a name.
func (u *UIDRequest) pattern() (*regexp.Regexp, error) {
	text := u.Names[0]
	if u.IgnoreCase {
		text = "(?i)" + text
	}
	return regexp.Compile(text)
}

// exitNothing is the exit code if nothing was found, or if errors were.
const exitNothing = 1

// UIDTables are what the commands about UIDs are about.
type UIDTables struct {
	*store.Store

	Trees     *forest.Service
	DB        kv.KV
	TreeTable string
	Layout    schema.Layout
}

// Run carries out a command. It returns the exit code, which is that of OpenTSDB's tool: 0, or 1 if nothing matched or fsck
// found errors that it did not mend.
func (t UIDTables) Run(ctx context.Context, u UIDRequest, printLine func(string) error) (code int, err error) {
	s := t.Store
	kinds, err := u.kinds()
	if err != nil {
		return 0, err
	}
	switch u.Command {
	case UIDGrep:
		return grepUIDs(ctx, s, kinds, u, printLine)
	case UIDAssign:
		return 0, assignUIDs(ctx, s, kinds[0], u.Names, printLine)
	case UIDRename:
		if err := s.Rename(ctx, kinds[0], u.Names[0], u.Names[1]); err != nil {
			return 0, err
		}
		return 0, printLine(fmt.Sprintf("%s %s -> %s", kinds[0].Plural(), u.Names[0], u.Names[1]))
	case UIDDelete:
		if err := s.DeleteUID(ctx, kinds[0], u.Names[0], u.Force); err != nil {
			if errors.As(err, new(storage.UsedError)) {
				err = fmt.Errorf("%w (--force deletes it all the same)", err)
			}
			return 0, err
		}
		return 0, printLine(fmt.Sprintf("UID %s %s deleted.", kinds[0].Plural(), u.Names[0]))
	case UIDLookup:
		return lookUpUID(ctx, t, kinds, u.Names[0], printLine)
	case UIDPurge:
		return purgeTree(ctx, t, u, printLine)
	}
	return checkUIDs(ctx, s, u, printLine)
}

func grepUIDs(ctx context.Context, s *store.Store, kinds []storage.NameKind, u UIDRequest, printLine func(string) error) (code int, err error) {
	pattern, err := u.pattern()
	if err != nil {
		return 0, err
	}
	code = exitNothing
	return code, s.Names().Each(ctx, kinds, func(m storage.Mapping) error {
		if !pattern.MatchString(m.Name) {
			return nil
		}
		code = 0
		return printLine(m.String())
	})
}

// assignUIDs gives names UIDs that have none, and prints all.
func assignUIDs(ctx context.Context, s *store.Store, kind storage.NameKind, names []string, printLine func(string) error) error {
	uids, errs := s.Names().Assign(ctx, kind, names)
	var failed []error
	for i, name := range names {
		if errs != nil && errs[i] != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, errs[i]))
			continue
		}
		if err := printLine(storage.Mapping{Kind: kind, Name: name, UID: []byte(uids[i])}.String()); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func checkUIDs(ctx context.Context, s *store.Store, u UIDRequest, printLine func(string) error) (code int, err error) {
	var printed error
	report, err := s.CheckUIDs(ctx, storage.UIDCheck{Fix: u.Fix, DeleteUnknown: u.DeleteUnknown, Print: func(line string) {
		if printed == nil {
			printed = printLine(line)
		}
	}})
	if err := errors.Join(err, printed); err != nil {
		return 0, err
	}
	if report.Errors > 0 {
		code = exitNothing
	}
	return code, printLine(fmt.Sprintf("%d cells analyzed: %d errors, %d warnings, %d mended", report.Cells, report.Errors, report.Warnings, report.Mended))
}
