// Package whisper reads and writes the files of Graphite's database: a header, and archives of points
// at even distances, each a ring of slots. It is a pure codec: it opens no file, and knows no names
// and no store.
//
// The source of the format and of the rules is whisper.py of whisper 1.1.10.
//
//	file    = header archives
//	header  = method(4) greatest retention(4, seconds) xFilesFactor(4, float) number of archives(4), for each
//	          archive: offset(4) step(4, seconds) slots(4)
//	archive = for each slot: time(4, seconds; 0: none) value(8, float)
//
// go-carbon's compressed files are read, too (packedheader.go).
//
// All numbers are big-endian. The first slot of an archive says where all others belong: the time t is in
// the slot (t - time of the first slot) / step, modulo the number of slots.
package whisper
