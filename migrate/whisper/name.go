package whisper

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// Suffix ends the names of files.
const Suffix = ".wsp"

// taggedDir is the directory of series with tags, and dotMark what a dot in their names becomes
// (carbon.util.TaggedSeries).
const (
	taggedDir = "_tagged"
	dotMark   = "_DOT_"
)

// A Hash is that of the name of a series with tags, which carbon names files by.
type Hash [sha256.Size]byte

// HashOf returns the hash of a name.
func HashOf(name string) Hash { return sha256.Sum256([]byte(name)) }

// NameOf returns the name of the series whose points carbon keeps in a file. path is relative to carbon's directory,
// with slashes. If it has nothing but the hash of the name, named is false.
func NameOf(file string) (name string, hash Hash, named bool) {
	file = strings.TrimSuffix(file, Suffix)
	if !strings.HasPrefix(file, taggedDir+"/") {
		return strings.ReplaceAll(file, "/", "."), hash, true
	}
	parts := strings.SplitN(file, "/", 4)
	last := parts[len(parts)-1]
	if raw, err := hex.DecodeString(last); err == nil && len(raw) == len(hash) {
		return "", Hash(raw), false
	}
	return strings.ReplaceAll(last, dotMark, "."), hash, true
}

// PathOf returns the file in which carbon keeps the points of a name, relative to its directory. hashed names those
// of series with tags by hash, as carbon does with TAG_HASH_FILENAMES. ok is false for a name that no file can have.
func PathOf(name string, hashed bool) (file string, ok bool) {
	if strings.Contains(name, ";") {
		hash := HashOf(name)
		text := hex.EncodeToString(hash[:])
		last := text
		if !hashed {
			last = strings.ReplaceAll(name, ".", dotMark)
		}
		file = path.Join(taggedDir, text[:3], text[3:6], "x") // last may have what Join takes for a parent
		file = strings.TrimSuffix(file, "x") + last
	} else {
		file = strings.ReplaceAll(name, ".", "/")
	}
	for part := range strings.SplitSeq(file, "/") {
		if part == "" || part == "." || part == ".." || len(part)+len(Suffix) > 255 || strings.Contains(part, "\x00") {
			return "", false
		}
	}
	return file + Suffix, true
}
