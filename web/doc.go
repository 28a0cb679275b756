// Package web serves the page at /: the files that web/dist holds are in the binary. "make web" builds them from
// web/app. The page asks the public HTTP APIs, as every client does; this package knows none of them, and no store.
package web
