// Package docs holds the pages of the handbook, for the site that the binary serves. It renders nothing.
package docs

import "embed"

// Files are the pages, their pictures and the description of the HTTP API.
//
//go:embed *.md img/*.svg openapi.yaml config.schema.json
var Files embed.FS
