package source

import (
	"flag"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

const defaultChecks = 120

// The model test wants longer histories than rapid's defaults; flags on the
// command line still win, as in
//
//	go test ./internal/source -run TestModel -rapid.checks=200000 -timeout=2h
func TestMain(m *testing.M) {
	for name, value := range map[string]int{"rapid.checks": defaultChecks, "rapid.steps": 60} {
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
