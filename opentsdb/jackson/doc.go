// Package jackson reads JSON as Jackson 2.9 does for a TSD 2.4.1: the one place for what is JSON there, and
// for what it means where a text, a number, a boolean, a list or an object is wanted.
//
//   - A number or a boolean is text too, as it is written. Text may be a number, with blanks around it. A
//     fraction that is to be whole loses its digits behind the point; "2.5" in quotes is an error.
//   - null is no text, no list and no object; of a number it is 0, of a boolean false.
//   - What follows the first value is not looked at. A byte order mark before it, comments, single quotes and
//     leading zeros are errors; NaN and the infinities need no quotes.
//   - Names are of one case. Of two fields of one name both are set, the later one last. Whether a field that is not
//     known is an error depends on the class: Object passes it over, Strict does not.
//
// testdata/Record.java prints what the real one does; package jackson knows no HTTP and no class of a TSD.
package jackson
