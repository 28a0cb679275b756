package python

// Modulo and FloorDivide round towards minus infinity, as Python's % and // do.
func Modulo(a, b int64) int64 { return ((a % b) + b) % b }

// FloorDivide is Python's //.
func FloorDivide(a, b int64) int64 { return (a - Modulo(a, b)) / b }
