package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

type sample struct {
	word string
	size int
	span time.Duration
	on   bool
}

func table(c *sample, getenv func(string) string) *Set {
	s := NewSet("try", "Try things.", "FILE", getenv)
	s.Group("Things")
	Choice(s, &c.word, "word", "a", []string{"a", "b"}, "A word.")
	Number(s, &c.size, "big-size", 10, 1, 20, "A size.")
	s.Duration(&c.span, "span", time.Hour, time.Second, 48*time.Hour, "A span.")
	s.Bool(&c.on, "on", true, "Whether.")
	return s
}

func TestAFlagWinsOverAVariableAndAVariableOverTheDefault(t *testing.T) {
	t.Parallel()
	var c sample
	rest, err := table(&c, env("FEEDGATE_BIG_SIZE", "5", "FEEDGATE_WORD", "b")).
		Parse([]string{"-word", "a", "--on=false", "x", "-y"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (sample{word: "a", size: 5, span: time.Hour}); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if got := strings.Join(rest, " "); got != "x -y" {
		t.Errorf("the rest is %q, want %q", got, "x -y")
	}
}

func TestAWrongValueIsRefusedWithItsNameAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		env  func(string) string
		want []string
	}{
		{nil, env("FEEDGATE_BIG_SIZE", "21"), []string{"FEEDGATE_BIG_SIZE", "1 to 20", "feedgate try --help"}},
		{[]string{"-big-size", "ten"}, env(), []string{"-big-size", "1 to 20"}},
		{[]string{"-span", "14d"}, env(), []string{"-span", "336h"}},
		{[]string{"-span", "49h"}, env(), []string{"1s to 48h"}},
		{[]string{"-word", "c"}, env(), []string{"a, b"}},
		{[]string{"-nope"}, env(), []string{"-nope"}},
	} {
		var out sample
		_, err := table(&out, c.env).Parse(c.args)
		if _, ok := errors.AsType[*UsageError](err); !ok {
			t.Errorf("%v: got %v, want a usage error", c.args, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q does not say %q", c.args, err, want)
			}
		}
	}
}

func TestHelpNamesEverySettingWithItsVariableBoundsAndDefault(t *testing.T) {
	t.Parallel()
	var c sample
	_, err := table(&c, env()).Parse([]string{"--help"})
	help, ok := errors.AsType[*HelpError](err)
	if !ok {
		t.Fatalf("got %v, want the help", err)
	}
	for _, want := range []string{
		"Usage: feedgate try [flags] FILE", "Things", "-big-size N", "FEEDGATE_BIG_SIZE", "1 to 20", "Default: 10", "48h", "Default: 1h",
	} {
		if !strings.Contains(help.Text, want) {
			t.Errorf("the help does not say %q:\n%s", want, help.Text)
		}
	}
}
