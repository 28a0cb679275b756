package fsck

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is a kind of finding.
type Kind string

// The kinds of findings.
const (
	BadKey         Kind = "bad-key"
	NoTags         Kind = "no-tags"
	BadTags        Kind = "bad-tags"
	BadBaseTime    Kind = "bad-base-time"
	WrongSalt      Kind = "wrong-salt"
	UnknownUID     Kind = "unknown-uid"
	BadQualifier   Kind = "bad-qualifier"
	UnknownCell    Kind = "unknown-cell"
	BadValue       Kind = "bad-value"
	BadCompacted   Kind = "bad-compacted"
	BadAppend      Kind = "bad-append"
	BadObject      Kind = "bad-object"
	BadAges        Kind = "bad-ages"
	BadAnnotation  Kind = "bad-annotation"
	LostAnnotation Kind = "lost-annotation"
	OutsideHour    Kind = "outside-hour"
	FloatLength    Kind = "float-length"
	ValueLength    Kind = "value-length"
	BadTrailer     Kind = "bad-trailer"
	Unsorted       Kind = "unsorted"
	ReservedBits   Kind = "reserved-bits"
	MistakenCell   Kind = "mistaken-cell"
	Duplicate      Kind = "duplicate"
	LongInteger    Kind = "long-integer"
	UntidyAppend   Kind = "untidy-append"
	BadSeries      Kind = "bad-series"
	BadCounter     Kind = "bad-counter"
	NoCounter      Kind = "no-counter"
	BadDocument    Kind = "bad-document"
	WrongDocument  Kind = "wrong-document"
	NoDocument     Kind = "no-document"
	NoMeta         Kind = "no-meta"
	NoData         Kind = "no-data"
	BadTreeRow     Kind = "bad-tree-row"
	NoTree         Kind = "no-tree"
	BadDefinition  Kind = "bad-definition"
	BadBranch      Kind = "bad-branch"
	NoBranch       Kind = "no-branch"
	OrphanBranch   Kind = "orphan-branch"
	BadLeaf        Kind = "bad-leaf"
	UnknownLeaf    Kind = "unknown-leaf"
	MisplacedLeaf  Kind = "misplaced-leaf"
	LostLeaf       Kind = "lost-leaf"
	UnknownFailure Kind = "unknown-failure"

	BadArchive      Kind = "bad-archive"
	LostArchive     Kind = "lost-archive"
	StrayArchive    Kind = "stray-archive"
	UnlistedArchive Kind = "unlisted-archive"
)

// A Mend is what can be done about a finding.
type Mend int

// The mends.
const (
	None     Mend = iota // nothing that is certain to be right
	Lossless             // no reader reads less afterwards
	Deletes              // what cannot be read, or is of nothing, is deleted
)

// A KindInfo describes a kind.
type KindInfo struct {
	Kind
	Text string // what is wrong, and how it is mended
	Mend Mend
	// Note means that every reader reads it all the same: it counts as no error, as in OpenTSDB's fsck.
	Note bool
}

var kinds = []KindInfo{
	{BadKey, "a row key of a length that no key has; the row is deleted", Deletes, false},
	{NoTags, "a row of a series without tags, where OpenTSDB's fsck stops", None, false},
	{BadTags, "a row whose tags do not ascend, or with a UID of 0", None, false},
	{BadBaseTime, "a row whose time is not a full hour", None, false},
	{WrongSalt, "a row in another salt bucket than that of its series", None, false},
	{UnknownUID, "a row whose metric or tags have no names; the row is deleted", Deletes, false},
	{BadQualifier, "a qualifier of a length that none has; the cell is deleted", Deletes, false},
	{UnknownCell, "a cell of an unknown kind, as a later OpenTSDB may write it", None, true},
	{BadValue, "a point whose value does not fit its flags; the cell is deleted", Deletes, false},
	{BadCompacted, "several points whose values do not fit their flags; the cell is deleted", Deletes, false},
	{BadAppend, "an append cell that cannot be read", None, false},
	{BadObject, "a cell of tsdbridge's objects that cannot be read", None, false},
	{BadAges, "a cell of tsdbridge's ages that cannot be read; the cell is deleted", Deletes, false},
	{BadAnnotation, "an annotation that cannot be read; it is deleted", Deletes, false},
	{LostAnnotation, "an annotation of another series or time than its document, under which it is not found", None, false},
	{OutsideHour, "a point, an annotation or a histogram that is not within the hour of its row", None, false},
	{FloatLength, "a float of 4 bytes in 8, as early versions of OpenTSDB wrote it; it takes 4", Lossless, false},
	{ValueLength, "flags with another length than the value, which counts; the flags are corrected", Lossless, false},
	{BadTrailer, "several points without their last byte, or with a wrong one; it is corrected", Lossless, false},
	{Unsorted, "a cell whose points do not ascend; they are sorted", Lossless, false},
	{ReservedBits, "a qualifier with reserved bits set; they are cleared", Lossless, false},
	{MistakenCell, "a cell that OpenTSDB's fsck would delete, because it takes it for an append cell; it is written anew", Lossless, false},
	{Duplicate, "an instant with several values; the one written last stays", Lossless, false},
	{LongInteger, "an integer of 8 bytes that fits in fewer; it takes these", Lossless, true},
	{UntidyAppend, "an append cell whose points do not ascend, or with an instant twice; they are put in order", Lossless, true},
	{BadSeries, "a row of tsdb-meta whose key is of no series; the row is deleted", Deletes, false},
	{BadCounter, "a counter of points that is no number of 8 bytes; it begins anew", Lossless, false},
	{NoCounter, "a series with a document and no counter of points; it gets one", Lossless, true},
	{BadDocument, "the document of a series that cannot be read; a new one takes its place", Deletes, false},
	{WrongDocument, "the document of a series with the TSUID of another, or none; it gets its own", Lossless, false},
	{NoDocument, "a series with a counter and no document; it gets one", Lossless, true},
	{NoMeta, "a series with data and no row of tsdb-meta; it gets one", Lossless, false},
	{NoData, "a row of tsdb-meta without data: it was written to more than a day ago", None, true},
	{BadTreeRow, "a row key of tsdb-tree that no row has", None, false},
	{NoTree, "a row of a tree that has no definition; the row is deleted", Deletes, false},
	{BadDefinition, "a definition or a rule of a tree that cannot be read or used", None, false},
	{BadBranch, "a branch that cannot be read, or of another path than its row", None, false},
	{NoBranch, "a row of leaves without its branch", None, false},
	{OrphanBranch, "a branch whose parent is not there; the parent is made", Lossless, false},
	{BadLeaf, "a leaf that cannot be read, or of another name than its column; it is deleted", Deletes, false},
	{UnknownLeaf, "a leaf of a series whose metric or tags have no names; it is deleted", Deletes, false},
	{MisplacedLeaf, "a leaf where the rules do not place its series any more; it is deleted", Deletes, false},
	{LostLeaf, "a leaf of a series without a row of tsdb-meta", None, true},
	{UnknownFailure, "a collision or a refusal of a series whose metric or tags have no names; it is deleted", Deletes, true},
	{BadArchive, "a cell of a coarse archive that cannot be read, or of another row than its own; it is deleted", Deletes, false},
	{LostArchive, "a row of coarse archives of a series without a row of tsdb-meta; the row is deleted", Deletes, false},
	{StrayArchive, "slots of a step that the document of the series has no archive of; they are deleted", Deletes, false},
	{UnlistedArchive, "slots of an archive of the series that its document does not list as stored, so that they are not read; it lists them", Lossless, false},
}

// Kinds lists the kinds of findings of the checks there are.
func Kinds() []KindInfo { return slices.Clone(kinds) }

// CanMend reports whether a kind of finding can be mended.
func CanMend(k Kind) bool { return infoOf(k).Mend != None }

func infoOf(k Kind) KindInfo {
	i := slices.IndexFunc(kinds, func(info KindInfo) bool { return info.Kind == k })
	if i < 0 {
		return KindInfo{Kind: k}
	}
	return kinds[i]
}

// Words for several kinds in ParseFix.
const (
	FixAll      = "all"
	FixLossless = "lossless"
)

// ParseFix reads the kinds that are to be mended: their names, "lossless" for all whose mend loses
// nothing, "all" for all that can be mended; separated by commas.
func ParseFix(text string) ([]Kind, error) {
	fix := map[Kind]bool{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		found := false
		for _, info := range kinds {
			group := word == FixAll && info.Mend != None || word == FixLossless && info.Mend == Lossless
			if string(info.Kind) == word && info.Mend == None {
				return nil, fmt.Errorf("%s: nothing is certain to mend it", word)
			}
			if group || string(info.Kind) == word {
				fix[info.Kind], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: no such kind of finding", word)
		}
	}
	var list []Kind
	for _, info := range kinds {
		if fix[info.Kind] {
			list = append(list, info.Kind)
		}
	}
	return list, nil
}
