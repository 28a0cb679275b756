package aggregate

import "testing"

func TestX(t *testing.T) {}
