package webconfig

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// verdict is what is known about a password.
type verdict int

const (
	wrong verdict = iota
	right
	unknown // it was not checked
)

// attempt is a user's name and password, and the address of the client.
type attempt struct{ user, password, from string }

// unknownUserHash is the hash that passwords of unknown users are compared with: the time must not reveal
// which users exist. It is the toolkit's.
const unknownUserHash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"

// passwords checks passwords against hashes of bcrypt, one at a time. Each check costs a core a
// tenth of a second or more.
//
// From its second use on, the right password of a user is recognized by a keyed sum instead, so
// that its user never waits. As soon as the right passwords of all users are known, all others are
// wrong, without a check.
type passwords struct {
	key  []byte // of the sums; of this process
	line *line

	mu    sync.Mutex // guards known
	known map[string]sum
}

// sum identifies the right password of a hash.
type sum struct {
	hash string
	mac  [sha256.Size]byte
}

func newPasswords() *passwords {
	p := &passwords{key: make([]byte, sha256.Size), known: map[string]sum{}, line: newLine()}
	_, _ = rand.Read(p.key) // it never fails
	return p
}

// check reports whether a password is right. unknown means that the client should try again later.
func (p *passwords) check(ctx context.Context, users map[string]string, a attempt) verdict {
	hash, exists := users[a.user]
	mac := p.mac(a.user, hash, a.password)
	if v := p.recall(users, a.user, sum{hash, mac}); v != unknown {
		return v
	}
	if !p.line.enter(ctx, a.from) {
		return unknown
	}
	compared := hash
	if !exists {
		compared = unknownUserHash
	}
	same := bcrypt.CompareHashAndPassword([]byte(compared), []byte(a.password)) == nil
	p.line.leave(a.from, exists && same)
	if !exists || !same {
		return wrong
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[a.user] = sum{hash, mac}
	return right
}

// recall returns what is known without bcrypt.
func (p *passwords) recall(users map[string]string, user string, s sum) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[user]
	if ok && s.hash != "" && known.hash == s.hash && hmac.Equal(known.mac[:], s.mac[:]) {
		return right
	}
	for user, hash := range users {
		if p.known[user].hash != hash {
			return unknown
		}
	}
	return wrong
}

// seen is how many bytes of a password bcrypt uses.
const seen = 72

// mac returns the sum of a password. Passwords that bcrypt treats as equal have equal sums: it
// repeats a password and a zero after it until it has enough bytes.
func (p *passwords) mac(user, hash, password string) (out [sha256.Size]byte) {
	m := hmac.New(sha256.New, p.key)
	for _, text := range []string{user, hash} {
		_, _ = m.Write(binary.AppendUvarint(nil, uint64(len(text))))
		_, _ = m.Write([]byte(text))
	}
	part := append([]byte(password[:min(len(password), seen)]), 0)
	repeated := make([]byte, 0, 2*seen)
	for len(repeated) < seen {
		repeated = append(repeated, part...)
	}
	_, _ = m.Write(repeated[:seen])
	m.Sum(out[:0])
	return out
}

// host returns the address of a client without its port.
func host(remote string) string {
	h, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return h
}
