package config

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// HelpError is that of a command line that asks for help: print it, and end well.
type HelpError struct{ Text string }

// Error gives the help.
func (h *HelpError) Error() string { return h.Text }

// UsageError says what is wrong with a command line or a variable, and what to do.
type UsageError struct {
	Command string
	Text    string
}

// Error gives the sentence with the place where more is to be read.
func (e *UsageError) Error() string {
	return e.Text + "\nRun \"feedgate " + e.Command + " --help\" to see every setting."
}

// Set is the table of settings of one command.
type Set struct {
	command  string
	intro    string
	args     string // how the arguments after the flags are shown in the help
	outro    string
	settings []*setting
	group    string
	getenv   func(string) string
}

type setting struct {
	name, env, group, unit, def, usage string
	bounds                             string
	toggle                             bool
	assign                             func(string) error
}

// NewSet starts the table of a command; intro is the first sentence of its help.
func NewSet(command, intro, args string, getenv func(string) string) *Set {
	return &Set{command: command, intro: intro, args: args, getenv: getenv}
}

// Group puts the settings that follow under a heading.
func (s *Set) Group(name string) { s.group = name }

// Outro ends the help, with examples.
func (s *Set) Outro(text string) { s.outro = text }

func (s *Set) add(st *setting) {
	st.env = "FEEDGATE_" + strings.ToUpper(strings.ReplaceAll(st.name, "-", "_"))
	st.group = s.group
	s.settings = append(s.settings, st)
}

// String is a setting of free text; check may be nil.
func (s *Set) String(p *string, name, unit, def, usage string, check func(string) error) {
	*p = def
	s.add(&setting{name: name, unit: unit, def: def, usage: usage, assign: func(v string) error {
		if check != nil {
			if err := check(v); err != nil {
				return err
			}
		}
		*p = v
		return nil
	}})
}

// Choice is a setting that takes one of a few words.
func Choice[T ~string](s *Set, p *T, name string, def T, choices []T, usage string) {
	*p = def
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = string(c)
	}
	s.add(&setting{name: name, unit: strings.Join(words, "|"), def: string(def), usage: usage, assign: func(v string) error {
		for _, c := range choices {
			if v == string(c) {
				*p = c
				return nil
			}
		}
		return fmt.Errorf("%q is none of %s", v, strings.Join(words, ", "))
	}})
}

// Bool is a setting that is on or off.
func (s *Set) Bool(p *bool, name string, def bool, usage string) {
	*p = def
	s.add(&setting{name: name, def: strconv.FormatBool(def), usage: usage, toggle: true, assign: func(v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", v)
		}
		*p = b
		return nil
	}})
}

// Number is a whole number within bounds.
func Number[T ~int | ~int64](s *Set, p *T, name string, def, low, high T, usage string) {
	*p = def
	bounds := fmt.Sprintf("%d to %d", low, high)
	s.add(&setting{name: name, unit: "N", def: strconv.FormatInt(int64(def), 10), bounds: bounds, usage: usage, assign: func(v string) error {
		n, err := strconv.ParseInt(strings.ReplaceAll(v, "_", ""), 10, 64)
		if err != nil || T(n) < low || T(n) > high {
			return fmt.Errorf("%q is not a whole number from %s", v, bounds)
		}
		*p = T(n)
		return nil
	}})
}

// Decimal is a number that may have a fraction, within bounds.
func (s *Set) Decimal(p *float64, name string, def, low, high float64, usage string) {
	*p = def
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	bounds := text(low) + " to " + text(high)
	s.add(&setting{name: name, unit: "X", def: text(def), bounds: bounds, usage: usage, assign: func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= low && f <= high) { // NaN is outside, too
			return fmt.Errorf("%q is not a number from %s", v, bounds)
		}
		*p = f
		return nil
	}})
}

// Duration is a time span as Go writes it, within bounds.
func (s *Set) Duration(p *time.Duration, name string, def, low, high time.Duration, usage string) {
	*p = def
	bounds := short(low) + " to " + short(high)
	s.add(&setting{name: name, unit: "TIME", def: short(def), bounds: bounds, usage: usage, assign: func(v string) error {
		d, err := time.ParseDuration(v)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 90s, 10m or 336h", v)
		}
		if d < low || d > high {
			return fmt.Errorf("%s is outside %s", v, bounds)
		}
		*p = d
		return nil
	}})
}

// short writes 336h for what Go writes as 336h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// flagValue lets a setting be a flag.
type flagValue struct{ *setting }

func (v flagValue) String() string {
	if v.setting == nil {
		return ""
	}
	return v.def
}

func (v flagValue) Set(text string) error { return v.assign(text) }

func (v flagValue) IsBoolFlag() bool { return v.toggle }

// Parse reads the variables and then the flags, and returns what follows the flags.
// Its error is a [*HelpError] or a [*UsageError].
func (s *Set) Parse(args []string) ([]string, error) {
	for _, st := range s.settings {
		if v := s.getenv(st.env); v != "" {
			if err := st.assign(v); err != nil {
				return nil, &UsageError{Command: s.command, Text: st.env + ": " + err.Error() + "."}
			}
		}
	}
	fs := flag.NewFlagSet(s.command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	for _, st := range s.settings {
		fs.Var(flagValue{st}, st.name, st.usage)
	}
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, &HelpError{Text: s.help()}
	}
	if err != nil {
		return nil, &UsageError{Command: s.command, Text: err.Error() + "."}
	}
	return fs.Args(), nil
}

const helpWidth = 96

func (s *Set) help() string {
	var b strings.Builder
	b.WriteString(s.intro + "\n\nUsage: feedgate " + s.command + " [flags]")
	if s.args != "" {
		b.WriteString(" " + s.args)
	}
	b.WriteString("\n")
	group := ""
	for _, st := range s.settings {
		if st.group != group {
			group = st.group
			b.WriteString("\n" + group + "\n")
		}
		line := "  -" + st.name
		if st.unit != "" {
			line += " " + st.unit
		}
		fmt.Fprintf(&b, "%-46s %s\n", line, st.env)
		text := st.usage
		if st.bounds != "" {
			text += " " + upperFirst(st.bounds) + "."
		}
		text += " Default: " + cmp.Or(st.def, "none") + "."
		b.WriteString(wrap(text, 6))
	}
	b.WriteString("\n" + wrap("Each setting is a flag or the variable beside it; the flag wins.", 0))
	if s.outro != "" {
		b.WriteString("\n" + s.outro + "\n")
	}
	return b.String()
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// wrap fills lines with words, each line after an indent.
func wrap(text string, indent int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", indent)
	line := pad
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > helpWidth && line != pad {
			b.WriteString(line + "\n")
			line = pad
		}
		if line != pad {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
