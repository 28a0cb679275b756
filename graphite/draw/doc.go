// Package draw draws Graphite's pictures: series and options in, the bytes of a PNG, SVG or PDF out.
// Its options, its layout, its colours and the choice of its ticks are those of graphite-web 1.1.10
// (render/glyph.py), so that boards that were made for graphite-web look as they did. It knows neither
// HTTP nor where series come from, and it takes the memory of a picture from the budget before it draws.
package draw
