package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Outcome is what an evaluation found.
type Outcome struct {
	File     string        `json:"file"`
	Bundle   *Bundle       `json:"-"`
	Part     string        `json:"part"`
	K        int           `json:"k"`
	Ways     []string      `json:"rankings"`
	Seeds    []SeedOutcome `json:"seeds"`
	Times    Times         `json:"times"`
	Usage    []Kept        `json:"usage,omitempty"`
	Posts    int           `json:"posts"`
	Learners int           `json:"people"` // who like anything
}

// SeedOutcome is what was found for one split. Scores stand at the indexes of the ways.
type SeedOutcome struct {
	Seed   uint64     `json:"seed"`
	Sizes  [parts]int `json:"sizes"` // train, valid, test
	People int        `json:"asked"` // people who were asked for
	Scores []Scores   `json:"scores"`
}

// Times tell how long all seeds took together.
type Times struct {
	Learning time.Duration `json:"learningNs"`
	Ranking  time.Duration `json:"rankingNs"`
	Rankings int           `json:"rankings"`
}

// Kept is what recommendation keeps of one kind.
type Kept struct {
	Usage
	For string `json:"for"` // "post" or "person"; "" for all together
	Of  string `json:"of"`  // what it is
}

// kept leaves of all kinds of keys those that are recommendation's.
func kept(all []Usage) []Kept {
	kinds := map[string]Kept{
		"board:similar":  {For: "post", Of: "posts that the same people engage with"},
		"board:topic":    {For: "post", Of: "posts of each topic, and the topics"},
		"board:trending": {For: "post", Of: "what is popular now"},
		"board:fresh":    {For: "post", Of: "what nobody has viewed"},
		"learned":        {For: "person", Of: "what of each person is counted"},
		"tastes":         {For: "person", Of: "what each person engages with (cached an hour)"},
		"views":          {For: "person", Of: "what each person has viewed (cached an hour)"},
		"session":        {For: "person", Of: "what was ranked (an hour)"},
		"unlearned":      {Of: "who is to be learned"},
		"until":          {Of: "who is being learned"},
		"learning":       {Of: "the state of learning"},
	}
	var out []Kept
	for _, usage := range all {
		if k, ours := kinds[usage.Kind]; ours {
			k.Usage = usage
			out = append(out, k)
		}
	}
	return out
}

func (o *Outcome) printJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(o)
}

// print writes the table for people.
func (o *Outcome) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d people, %d follows, %d posts, %d people who like\n",
		filepath.Base(o.File), o.Bundle.Users, o.Bundle.Follows, o.Bundle.Posts, len(o.Bundle.Likes))
	if o.Bundle.Own > 0 {
		fmt.Fprintf(&b, "%d likes of own or missing posts are never hidden\n", o.Bundle.Own)
	}
	for _, s := range o.Seeds {
		fmt.Fprintf(&b, "seed %d: %d / %d / %d likes for train, valid, test; %d people asked for, by %s\n",
			s.Seed, s.Sizes[Train], s.Sizes[Valid], s.Sizes[Test], s.People, o.Part)
	}
	width := len("ranking")
	for _, name := range o.Ways {
		width = max(width, len(name))
	}
	fmt.Fprintf(&b, "\n%-*s  %5s  %9s  %9s  %9s\n", width, "ranking", "seed",
		fmt.Sprintf("Recall@%d", o.K), fmt.Sprintf("NDCG@%d", o.K), fmt.Sprintf("Hit@%d", o.K))
	row := func(name, seed string, s Scores) {
		fmt.Fprintf(&b, "%-*s  %5s  %9.4f  %9.4f  %9.4f\n", width, name, seed, s.Recall, s.NDCG, s.Hit)
	}
	for i, name := range o.Ways {
		var all []Scores
		for _, s := range o.Seeds {
			row(name, strconv.FormatUint(s.Seed, 10), s.Scores[i])
			all = append(all, s.Scores[i])
		}
		if len(all) > 1 {
			row(name, "mean", mean(all))
		}
	}
	t := o.Times
	fmt.Fprintf(&b, "\nlearning took %s; %d rankings took %s, %s each\n", t.Learning.Round(10*time.Millisecond),
		t.Rankings, t.Ranking.Round(10*time.Millisecond), (t.Ranking / time.Duration(max(1, t.Rankings))).Round(10*time.Microsecond))
	o.printUsage(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// printUsage tells what recommendation keeps in Redis.
func (o *Outcome) printUsage(b *strings.Builder) {
	if len(o.Usage) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-15s  %9s  %12s  %10s\n", "kept in Redis", "keys", "bytes", "a key")
	sums := make(map[string]int64)
	total := int64(0)
	for _, k := range o.Usage {
		sums[k.For] += k.Bytes
		total += k.Bytes
		fmt.Fprintf(b, "%-15s  %9d  %12d  %10d  %s\n", k.Kind, k.Keys, k.Bytes, k.Bytes/max(1, k.Keys), k.Of)
	}
	fmt.Fprintf(b, "%d bytes a post (%d posts), %d bytes a person who likes (%d people), %d bytes in all\n",
		sums["post"]/int64(max(1, o.Bundle.Posts)), o.Bundle.Posts, sums["person"]/int64(max(1, o.Learners)), o.Learners, total)
}
