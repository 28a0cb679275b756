package query

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ParseZone returns the time zone of a name, as a TSD does: it knows the names that Java has, exactly as Java
// writes them. Those are the names of the time zone database, but for a few, and in addition short ones by habit:
// PST is Los Angeles, and IST is India.
func ParseZone(name string) (*time.Location, error) {
	if long, ok := shortZones()[name]; ok {
		name = long
	} else if unknownToJava(name) {
		return nil, fmt.Errorf("unknown time zone %s", name)
	}
	return time.LoadLocation(name)
}

// unknownToJava reports whether Go loads a name that Java does not have: one of this machine, or of a file beside
// the zones.
func unknownToJava(name string) bool {
	return slices.Contains([]string{"Local", "localtime", "posixrules", "Factory", "GMT+0", "GMT-0", "ROC"}, name) ||
		strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
}

// shortZones are the short names of Java (ZoneId.SHORT_IDS), and what they mean.
func shortZones() map[string]string {
	return map[string]string{
		"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
		"ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
		"CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
		"EAT": "Africa/Addis_Ababa", "EST": "Etc/GMT+5", "HST": "Etc/GMT+10",
		"ECT": "Europe/Paris", //nolint:misspell // Java's name
		"IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo",
		"MIT": "Pacific/Apia", "MST": "Etc/GMT+7", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
		"PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
		"PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
	}
}
