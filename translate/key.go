package translate

import (
	"strconv"
	"strings"
)

const (
	keyPrefix = "-" // of an escaped label name
	// bareKey and bareValue are the one tag of a series without labels. E has no token that is a
	// lone "_".
	bareKey, bareValue = "-_", "1"
	// packedPrefix and a number from 0 are the tags that hold packed labels. E's hex digits are
	// never lower-case.
	packedPrefix = "-_p"
	// PackedKey is a tag that every series with packed labels has. Their names and values are in no
	// other tag.
	PackedKey = packedPrefix + "0"
	// clashPrefix goes before a foreign tag's name that is taken; Prometheus' own way with labels
	// that clash (honor_labels).
	clashPrefix = "exported_"
)

// tagKey returns the tag key of a label name, "" if it has none.
func tagKey(name string) string {
	if name == "" || isOwnKey(name) {
		return name
	}
	return keyPrefix + escape(name)
}

// isOwnKey reports whether a label name is its own tag key.
func isOwnKey(name string) bool {
	return isLegal(name) && name[0] != '-'
}

// labelName returns the name that a tag key stands for. One that no label is stored under is not
// our own: it stands for itself.
func labelName(key string) (name string, own bool) {
	if isOwnKey(key) {
		return key, key != nameLabel
	}
	rest, ok := strings.CutPrefix(key, keyPrefix)
	if !ok {
		return key, false
	}
	name, ok = unescape(rest)
	if !ok || name == "" || isOwnKey(name) {
		return key, false
	}
	return name, true
}

// showable reports whether a foreign key may be a label name at all: the metric's name is the
// metric's.
func showable(key string) bool { return key != "" && key != nameLabel }

// reserved reports whether a key holds no label of its own when it is ours.
func reserved(key string) bool {
	if key == bareKey {
		return true
	}
	_, ok := chunkIndex(key)
	return ok
}

// chunkKey returns the key of the i-th packed tag.
func chunkKey(i int) string { return packedPrefix + strconv.Itoa(i) }

// chunkIndex is the inverse of chunkKey.
func chunkIndex(key string) (i int, ok bool) {
	digits, ok := strings.CutPrefix(key, packedPrefix)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && key == chunkKey(i)
}
