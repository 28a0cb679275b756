package main

import (
	"testing"
	"time"
)

// All samples of a registration are of one hour, whenever it is measured.
func TestRegistrationWithinAnHour(t *testing.T) {
	day := time.Date(2026, 11, 22, 21, 0, 0, 0, time.UTC)
	for second := range 3600 {
		now := day.Add(time.Duration(second) * time.Second)
		now = now.Add(untilHourIsOpen(now))
		first, then := registrationShapes(1, endAt(now))
		if begin, hour := first.Start(), now.Truncate(time.Hour); begin.Before(hour) || then.End.Before(first.End) {
			t.Fatalf("from second %d on: measured at %v with samples from %v on", second, now, begin)
		}
	}
}
