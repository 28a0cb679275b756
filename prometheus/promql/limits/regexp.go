package limits

// maxRegexp bounds the regular expressions of a query or selector, in compiled instructions. An
// expression without repetitions and classes has about one for each letter.
const maxRegexp = 1 << 20

// classCost is the cost of a Unicode class such as \pL.
const classCost = 150

// Regexps checks regular expressions that are compiled for one request.
func Regexps(patterns ...string) error {
	cost := 0
	for _, p := range patterns {
		if len(p) > maxBytes {
			return tooLarge("a regular expression of %d bytes, at most %d are read", len(p), maxBytes)
		}
		cost += regexpCost(p)
	}
	return checkRegexps(cost)
}

func checkRegexps(cost int) error {
	if cost > maxRegexp {
		return tooLarge("its regular expressions repeat too much: they have more than %d parts", maxRegexp)
	}
	return nil
}

// regexpCost returns about how many instructions a regular expression compiles to, without
// compiling it. Sums stop growing at some millions.
func regexpCost(pattern string) int {
	const enough = 4 * maxRegexp
	groups := make([]int, 1, 8) // cost of what is open
	last := 0                   // cost of the last atom, which a repetition repeats
	for i := 0; i < len(pattern); i++ {
		top := &groups[len(groups)-1]
		switch c := pattern[i]; c {
		case '(':
			groups, last = append(groups, 1), 0
			continue
		case ')':
			if len(groups) > 1 {
				last, groups = *top+1, groups[:len(groups)-1]
				top = &groups[len(groups)-1]
				*top = min(*top+last, enough)
			}
			continue
		case '{':
			n, end := repetition(pattern, i)
			if end > i {
				*top = min(*top+last*max(0, n-1), enough)
				last = min(last*max(1, n), enough)
				i = end
				continue
			}
			last = 1
		case '[':
			end, cost := class(pattern, i)
			i, last = end, cost
		case '\\':
			i++
			last = 1
			if i < len(pattern) && (pattern[i] == 'p' || pattern[i] == 'P') {
				last = classCost
			}
		default:
			last = 1
		}
		*top = min(*top+last, enough)
	}
	sum := 0
	for _, g := range groups {
		sum = min(sum+g, enough)
	}
	return sum
}

// repetition reads {n}, {n,} or {n,m} at i. It returns the larger number and where the repetition
// ends; i if there is none.
func repetition(pattern string, i int) (n, end int) {
	least, end := number(pattern, i+1)
	if end == i+1 {
		return 0, i
	}
	most := least
	if end < len(pattern) && pattern[end] == ',' {
		most, end = number(pattern, end+1)
	}
	if end == len(pattern) || pattern[end] != '}' {
		return 0, i
	}
	return max(least, most), end
}

// number reads digits at i, and returns where they end. Go's package accepts no repetition above
// 1000.
func number(pattern string, i int) (n, end int) {
	for end = i; end < len(pattern) && '0' <= pattern[end] && pattern[end] <= '9'; end++ {
		n = min(10*n+int(pattern[end]-'0'), maxRegexp)
	}
	return n, end
}

// class reads a class in brackets at i. It returns its last byte, and its cost.
func class(pattern string, i int) (end, cost int) {
	cost = 1
	for end = i + 1; end < len(pattern); end++ {
		switch {
		case pattern[end] == '\\':
			end++
			if end < len(pattern) && (pattern[end] == 'p' || pattern[end] == 'P') {
				cost += classCost
			}
		case pattern[end] == ']' && end > i+1 && (end != i+2 || pattern[i+1] != '^'):
			return end, cost
		default:
			if end%8 == 0 {
				cost++
			}
		}
	}
	return end - 1, cost
}
