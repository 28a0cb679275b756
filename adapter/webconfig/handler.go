package webconfig

import (
	"net/http"
	"strconv"

	"golang.org/x/time/rate"
)

// retryAfter is in how many seconds a client should try again whose password could not be checked.
const retryAfter = 1

// handler passes on requests with a right password.
type handler struct {
	file      *File
	next      http.Handler
	limiter   *rate.Limiter // nil: none
	passwords *passwords
}

// Handler demands what the file requires before next gets a request: a password, if it names users.
// It also sets the file's headers.
func (f *File) Handler(next http.Handler) http.Handler {
	s := f.now()
	h := &handler{file: f, next: next, passwords: f.passwords}
	if s.limit.Interval != 0 {
		h.limiter = rate.NewLimiter(rate.Every(s.limit.Interval), s.limit.Burst)
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.file.now()
	if h.limiter != nil && !h.limiter.Allow() {
		http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
		return
	}
	for name, value := range s.headers {
		w.Header().Set(name, value)
	}
	switch h.authenticate(r, s) {
	case right:
		h.next.ServeHTTP(w, r)
	case unknown:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		http.Error(w, "too many passwords are being checked, try again later", http.StatusServiceUnavailable)
	case wrong:
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
	}
}

// authenticate checks the password of a request.
func (h *handler) authenticate(r *http.Request, s *settings) verdict {
	if len(s.users) == 0 {
		return right
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return wrong
	}
	return h.passwords.check(r.Context(), s.users, attempt{user, password, clientOf(r.RemoteAddr)})
}
