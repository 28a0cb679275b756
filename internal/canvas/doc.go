// Package canvas draws lines, areas and texts on pictures: on pixels, or in the text of an SVG or PDF
// document. Its fonts are those of DejaVu, fitted to pixels as cairo does. It knows no series and no axis,
// and takes no memory from a budget: the caller does, see RasterBytes.
package canvas
