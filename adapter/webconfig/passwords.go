package webconfig

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/tsdbridge/tsdbridge/internal/cache"
)

// verdict is what is known about a password.
type verdict int

const (
	wrong verdict = iota
	right
	unknown // it was not checked
)

// attempt is a user's name and password, and where it comes from.
type attempt struct {
	user, password string
	client         client
}

// firstTook is how long a comparison is taken to last before the first one.
const firstTook = 100 * time.Millisecond

// mostWrong is how many wrong passwords are remembered at least.
const mostWrong = 4096

// passwords checks passwords against hashes of bcrypt, one comparison at a time: each costs a core a
// tenth of a second or more.
//
// From its second use on, the right password of a user is recognized by a keyed sum instead, so
// that its user never waits, and so is a wrong one that is sent again. Comparisons are made only for
// users whose right password is not known yet, and these take turns, so a user waits for the guesses
// at no other name. All other attempts are wrong without a comparison: they take as long as one, so
// that the time does not reveal which users exist. As soon as the right passwords of all users are
// known, all others are wrong at once.
type passwords struct {
	key     []byte // of the sums; of this process
	lines   *lines
	core    chan struct{} // has one place: who has it compares
	compare func(hash, password []byte) error

	wrong *cache.LRU[[sha256.Size]byte, bool] // sums of wrong passwords

	mu    sync.Mutex // guards all below
	known map[string]sum
	took  time.Duration // the last comparison, with the wait for the core
}

// sum identifies the right password of a hash.
type sum struct {
	hash string
	mac  [sha256.Size]byte
}

func newPasswords() *passwords {
	p := &passwords{
		key: make([]byte, sha256.Size), known: map[string]sum{}, lines: newLines(), core: make(chan struct{}, 1),
		compare: bcrypt.CompareHashAndPassword, wrong: cache.NewLRU[[sha256.Size]byte, bool](mostWrong), took: firstTook,
	}
	_, _ = rand.Read(p.key) // it never fails
	return p
}

// check reports whether a password is right. unknown means that the client should try again later.
func (p *passwords) check(ctx context.Context, users map[string]string, a attempt) verdict {
	hash, exists := users[a.user]
	s := sum{hash, p.mac(a.user, hash, a.password)}
	if v := p.recall(users, a.user, s); v != unknown {
		return v
	}
	line := p.lines.of(a.user, exists)
	if !line.enter(ctx, a.client) {
		return unknown
	}
	v := p.recall(users, a.user, s) // what others were told while this one waited
	if v == unknown {
		v = p.decide(ctx, users, a, s)
	}
	line.leave(a.client, v)
	return v
}

// decide compares a password whose turn it is, if it can be right.
func (p *passwords) decide(ctx context.Context, users map[string]string, a attempt, s sum) verdict {
	began := time.Now()
	if s.hash == "" || p.proven(a.user, s.hash) {
		return p.pretend(ctx, users, a, s)
	}
	select {
	case p.core <- struct{}{}:
	case <-ctx.Done():
		return unknown
	}
	same := p.compare([]byte(s.hash), []byte(a.password)) == nil
	<-p.core
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took = time.Since(began)
	if !same {
		p.wrong.Put(s.mac, true)
		return wrong
	}
	p.known[a.user] = s
	return right
}

// pretend takes as long as a comparison whose result is known: it is one while nobody needs the
// core, otherwise it waits.
func (p *passwords) pretend(ctx context.Context, users map[string]string, a attempt, s sum) verdict {
	select {
	case p.core <- struct{}{}:
		_ = p.compare([]byte(hashLike(users, s.hash)), []byte(a.password))
		<-p.core
	default:
		p.mu.Lock()
		took := p.took
		p.mu.Unlock()
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return unknown
		}
	}
	p.wrong.Put(s.mac, true)
	return wrong
}

// hashLike returns a hash; that of the first user for a user that does not exist, for the same cost.
func hashLike(users map[string]string, hash string) string {
	if hash != "" {
		return hash
	}
	return users[slices.Min(slices.Collect(maps.Keys(users)))]
}

// proven reports whether the right password of a hash is known.
func (p *passwords) proven(user, hash string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[user].hash == hash
}

// recall returns what is known without a comparison.
func (p *passwords) recall(users map[string]string, user string, s sum) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[user]
	if ok && s.hash != "" && known.hash == s.hash && hmac.Equal(known.mac[:], s.mac[:]) {
		return right
	}
	if _, ok := p.wrong.Get(s.mac); ok {
		return wrong
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
