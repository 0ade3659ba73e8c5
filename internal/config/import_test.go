package config

import (
	"errors"
	"slices"
	"testing"
)

func TestAFlagAfterTheFilesIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"a.ndjson", "-data", "elsewhere"}, {"a.ndjson", "-strict"}, {"-quiet", "-", "--quiet"}} {
		var usage *UsageError
		if _, err := ParseImport(args, env()); !errors.As(err, &usage) {
			t.Errorf("%q: got %v, want a refusal: the data would go into another folder", args, err)
		}
	}
	for _, args := range [][]string{{"-"}, {"-quiet", "a.ndjson", "-", "./-data"}, {"--", "a.ndjson"}} {
		c, err := ParseImport(args, env())
		if err != nil || slices.Contains(c.Files, "-quiet") {
			t.Errorf("%q: %v, %v", args, c, err)
		}
	}
}
