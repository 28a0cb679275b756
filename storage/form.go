package storage

// A Form is as what a client sent a point. OpenTSDB's doors keep more of it than time and number: a
// TSD stores 1, 1.0 by telnet and 1.0 over HTTP in three ways and a whole second in two, and a
// second point that differs at the same instant fails its queries. It is a kind and flags.
type Form byte

// The forms of values.
const (
	FormFloat   Form = iota // a float, in as many bytes as Values requires
	FormInteger             // an integer: the 64 bits of the value are those of an int64
	// a float that a TSD stores in 8 bytes even where 4 are enough, as its /api/put does.
	FormDouble

	formKind = 3

	// FormMillis is a flag: the time came in milliseconds. A TSD then gives a whole second too the
	// qualifier of milliseconds.
	FormMillis Form = 4
)

// Kind returns the form without flags.
func (f Form) Kind() Form { return f & formKind }

// Millis reports whether the flag FormMillis is set.
func (f Form) Millis() bool { return f&FormMillis != 0 }
