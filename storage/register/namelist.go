package register

import "unsafe"

// nameList is the names of one kind in a call of Resolve: each once, and which of them the series
// use.
type nameList struct {
	list []string
	at   map[string]int32 // where in list
	uses []int32          // one after the other, indices in list; -1: not looked at
	uids []string         // of list
}

// add adds one use. The name is the one of another use more often than not: guess is the index of
// that use.
func (l *nameList) add(name string, guess int) {
	if guess >= 0 && guess < len(l.uses) {
		if n := l.uses[guess]; n >= 0 && l.list[n] == name {
			l.uses = append(l.uses, n)
			return
		}
	}
	n, ok := l.at[name]
	if !ok {
		if l.at == nil {
			l.at = map[string]int32{}
		}
		n = int32(len(l.list))
		l.at[name], l.list = n, append(l.list, name)
	}
	l.uses = append(l.uses, n)
}

// skip leaves a place for uses that are not needed.
func (l *nameList) skip(from, to int) {
	for range to - from {
		l.uses = append(l.uses, -1)
	}
}

// of are the uses from one index to another.
func (l *nameList) of(from, to int) []int32 { return l.uses[from:to] }

// uid is the UID of a use, which must not be changed.
func (l *nameList) uid(use int) []byte {
	uid := l.uids[l.uses[use]]
	return unsafe.Slice(unsafe.StringData(uid), len(uid)) // it is copied into a TSUID, no more
}

// mostNames is how many names a list keeps the memory of.
const mostNames = 1 << 16

func (l *nameList) reset() {
	if len(l.list) > mostNames || len(l.uses) > 16*mostNames {
		*l = nameList{}
		return
	}
	clear(l.list)
	clear(l.at)
	l.list, l.uses, l.uids = l.list[:0], l.uses[:0], nil
}
