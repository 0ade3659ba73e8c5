package scalar_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/graph/scalar"
)

func text(m graphql.Marshaler) string {
	var b bytes.Buffer
	m.MarshalGQL(&b)
	return b.String()
}

func TestDateTimeIsRFC3339WithMillisecondsInUTC(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{
		0:                   `"1970-01-01T00:00:00.000Z"`,
		1:                   `"1970-01-01T00:00:00.001Z"`,
		-1:                  `"1969-12-31T23:59:59.999Z"`,
		1_709_164_799_999:   `"2024-02-28T23:59:59.999Z"`,
		1_709_251_199_010:   `"2024-02-29T23:59:59.010Z"`,
		-62_167_219_200_000: `"0000-01-01T00:00:00.000Z"`,
		253_402_300_799_999: `"9999-12-31T23:59:59.999Z"`,
	} {
		if got := text(scalar.MarshalDateTime(ms)); got != want {
			t.Errorf("%d: got %s, want %s", ms, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-70_000_000_000_000, 260_000_000_000_000).Draw(t, "ms")
		want := time.UnixMilli(ms).UTC().Format(`"2006-01-02T15:04:05.000Z"`)
		if got := string(scalar.AppendDateTime(nil, ms)); got != want {
			t.Fatalf("%d: got %s, want %s", ms, got, want)
		}
	})
}

func TestDateTimeIsReadInAnyZone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		"2026-03-14T15:09:26.535Z":         1_773_500_966_535,
		"2026-03-14T16:09:26.535+01:00":    1_773_500_966_535,
		"2026-03-14T15:09:26Z":             1_773_500_966_000,
		"2026-03-14T15:09:26.535999-00:00": 1_773_500_966_535,
	} {
		if got, err := scalar.UnmarshalDateTime(in); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []any{"yesterday", "2026-03-14", 17, nil, json.Number("1"), ""} {
		if got, err := scalar.UnmarshalDateTime(in); err == nil {
			t.Errorf("%v: got %d, want an error", in, got)
		}
	}
}

func TestIDsComeBackAsTheyWentOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := feed.NodeID{
			Kind: rapid.SampledFrom([]feed.NodeKind{feed.NodeUser, feed.NodePost, feed.NodeComment}).Draw(t, "kind"),
			ID:   feed.ID(rapid.Int64Range(1, math.MaxInt64).Draw(t, "id")),
		}
		out := text(scalar.MarshalNodeID(want))
		if out != `"`+want.String()+`"` {
			t.Fatalf("got %s, want %q", out, want)
		}
		if got, err := scalar.UnmarshalNodeID(strings.Trim(out, `"`)); err != nil || got != want {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	})
	for _, in := range []any{5, nil, "post", "5", "post:0", "post:-1", "post:+1", "post:01", "post:9223372036854775808", "Post:1", "post:1 "} {
		if got, err := scalar.UnmarshalNodeID(in); err == nil {
			t.Errorf("%v: got %v, want an error", in, got)
		}
	}
}

func TestCountsAreClampedTo32Bits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 7: "7", -7: "-7", 2_147_483_647: "2147483647", 2_147_483_648: "2147483647",
		math.MaxInt64: "2147483647", math.MinInt64: "-2147483648",
	} {
		if got := text(scalar.MarshalCount(n)); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestJSONKeepsDigitsAndText(t *testing.T) {
	t.Parallel()
	in := `{"a":123456789012345678901234567890,"b":1.50,"c":"<&>é👩","d":[null,true],"e":1e400}`
	var v any
	dec := json.NewDecoder(strings.NewReader(in))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	raw, err := scalar.UnmarshalJSON(v)
	if err != nil || string(raw) != in {
		t.Errorf("got %s, %v, want %s", raw, err, in)
	}
	if got := text(scalar.MarshalJSON(raw)); got != in {
		t.Errorf("got %s, want %s", got, in)
	}
	if got := text(scalar.MarshalJSON(nil)); got != "null" {
		t.Errorf("nothing: got %s, want null", got)
	}
	if _, err := scalar.UnmarshalJSON(func() {}); err == nil {
		t.Error("a function is no JSON")
	}
}

func TestStringsAreWrittenAsGqlgenDoes(t *testing.T) {
	t.Parallel()
	check := func(s string) string {
		got := string(scalar.AppendString(nil, s))
		if want := text(graphql.MarshalString(s)); got != want {
			return "got " + got + ", want " + want
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != s {
			return "came back as " + back
		}
		return ""
	}
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é\u2028👩‍👩‍👧", strings.Repeat("a\n", 100)} {
		if problem := check(s); problem != "" {
			t.Errorf("%q: %s", s, problem)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if problem := check(rapid.String().Draw(t, "s")); problem != "" {
			t.Fatal(problem)
		}
	})
	if got := string(scalar.AppendString(nil, "a\xffb")); got != "\"a\uFFFDb\"" {
		t.Errorf("bytes that are no text: got %s", got)
	}
}

func TestFloatsAreWrittenAsGqlgenDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(-180, 180).Draw(t, "f")
		got := string(scalar.AppendFloat(nil, f))
		if want := text(graphql.MarshalFloat(f)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		var back float64
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != f {
			t.Fatalf("%v came back as %v, %v", f, back, err)
		}
	})
}
