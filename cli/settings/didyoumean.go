package settings

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/didyoumean"
)

// DidYouMean adds to an error the name that is most similar to a word, if there is one.
func DidYouMean(err error, prefix, word string, names []string) error {
	if near := neighbour(word, names); near != "" {
		return fmt.Errorf("%w: did you mean %s%s?", err, prefix, near)
	}
	return err
}

// neighbour returns the name that is nearest to a word. If there is none, it returns the only name
// whose last element is the word.
func neighbour(word string, names []string) string {
	if near := didyoumean.Names(word, names, 1); len(near) > 0 {
		return near[0]
	}
	best := ""
	for _, name := range names {
		if strings.HasSuffix(name, "."+word) {
			if best != "" {
				return ""
			}
			best = name
		}
	}
	return best
}
