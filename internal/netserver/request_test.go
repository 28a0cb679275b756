package netserver

import "testing"

func TestIsRequestHead(t *testing.T) {
	for line, want := range map[string]bool{
		"GET / HTTP/1.1": true, "POST /a/b?c=d%20e HTTP/1.1\r": true, "post / HTTP/1.0": true, "OPTIONS * HTTP/1.1": true, "PRI * HTTP/2.0": true,
		"GET http://h/ HTTP/1.1": true, "GET /a b c HTTP/1.1": true, "Host: 192.0.2.1:2003\r": true, "hOsT:x": true,
		"": false, "HTTP/1.1": false, " HTTP/1.1": false, "GET / HTTP/1": false, "GET / HTTP/x.1": false, "a.b.c 1 1356998400": false, "a.b.c 1 HTTP/1.1": false,
		"put m 1356998400 1 host=a": false, "Hostile 1": false, "GET / FTP/1.1": false,
	} {
		if got := IsRequestHead([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
	for line, want := range map[string]bool{"POST /aaaa": true, "GET http://h": true, "get /x y": true, "a.b /x": false, "GET": false, "servers 1 2": false} {
		if got := IsRequestBegin([]byte(line)); got != want {
			t.Errorf("%q begins a request: %v", line, got)
		}
	}
	for first, want := range map[string]bool{"\x16\x03\x01\x02": true, "\x16": false, "a.b": false, "\x16\x02": false} {
		if got := IsHandshake([]byte(first)); got != want {
			t.Errorf("%q is a handshake: %v", first, got)
		}
	}
}
