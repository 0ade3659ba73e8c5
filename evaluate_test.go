package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"feedgate/feed"
	"feedgate/internal/evaluate"
	"feedgate/store/storetest/redisserver"
)

// The two groups of a small world: people like posts of their own group only.
const (
	groupPeople = 20
	groupPosts  = 60
	groupLikes  = 20 // of each person
)

func person(group, i int) feed.ID { return feed.ID(1000*(group+1) + i) }
func liked(group, i int) feed.ID  { return feed.ID(100_000*(group+1) + i) }

// groups writes a bundle of two groups with disjoint tastes; each post has an
// author of its own, and everybody follows two of the group.
func groups() string {
	var b strings.Builder
	dice := rand.New(rand.NewPCG(1, 2))
	for g := range 2 {
		for i := range groupPeople {
			fmt.Fprintf(&b, `{"type":"user","id":"%d","handle":"person%[1]d"}`+"\n", person(g, i))
		}
		for i := range groupPosts {
			fmt.Fprintf(&b, `{"type":"user","id":"%d","handle":"author%[1]d"}`+"\n", liked(g, i)+50_000)
			fmt.Fprintf(&b, `{"type":"post","id":"%d","author":"%d","at":"2020-01-02T03:04:05Z","text":"x"}`+"\n", liked(g, i), liked(g, i)+50_000)
		}
	}
	for g := range 2 {
		for i := range groupPeople {
			for _, other := range []int{(i + 1) % groupPeople, (i + 7) % groupPeople} {
				fmt.Fprintf(&b, `{"type":"follow","follower":"%d","followee":"%d"}`+"\n", person(g, i), person(g, other))
			}
			for _, n := range dice.Perm(groupPosts)[:groupLikes] {
				fmt.Fprintf(&b, `{"type":"like","user":"%d","post":"%d"}`+"\n", person(g, i), liked(g, n))
			}
		}
	}
	return b.String()
}

func bundleFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.ndjson")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// evaluated runs the command, and gives the scores by the names of the rows.
func evaluated(t *testing.T, args ...string) (map[string]evaluate.Scores, evaluate.Outcome) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"evaluate", "-json"}, args...), settings{}.getenv, &out); err != nil {
		t.Fatal(err)
	}
	var o evaluate.Outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	scores := make(map[string]evaluate.Scores)
	for i, name := range o.Ways {
		scores[name] = o.Seeds[0].Scores[i]
	}
	return scores, o
}

func TestEvaluateFindsHiddenLikesOfASmallWorldTheSameEachTime(t *testing.T) {
	t.Parallel()
	file := bundleFile(t, groups())
	scores, o := evaluated(t, "-likes", file)
	if s := o.Seeds[0]; s.People != 2*groupPeople || s.Sizes != [3]int{16 * s.People, 2 * s.People, 2 * s.People} {
		t.Errorf("%d people are asked for, with %v likes; want 40 with 16, 2 and 2 each", s.People, s.Sizes)
	}
	// Of 42 posts of the group that are left, chance finds 10/42; of both groups, less.
	all, popular := scores["all"], scores["popularity only"]
	if all.Recall < 0.2 || all.Recall < 1.4*popular.Recall || all.Hit < all.Recall || all.NDCG == 0 {
		t.Errorf("all sources score %+v, popularity %+v: want recall of at least 0.2 and well above popularity", all, popular)
	}
	again, _ := evaluated(t, "-likes", file)
	for name, s := range scores {
		if again[name] != s {
			t.Errorf("%s: got %+v, and then %+v", name, s, again[name])
		}
	}
	other, _ := evaluated(t, "-likes", file, "-seed", "2", "-without", "social,topic", "-users", "20", "-part", "valid")
	if len(other) != 2 || other["without social, topic"].Recall == 0 {
		t.Errorf("got the rows %v, want one without social and topic, and all", other)
	}
}

func TestEvaluatePrintsATable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"evaluate", "-likes", bundleFile(t, groups()), "-seeds", "2", "-users", "5", "-k", "5"}, settings{}.getenv, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"160 people, 80 follows, 120 posts, 40 people who like", "seed 2: 640 / 80 / 80 likes", "5 people asked for",
		"Recall@5", "NDCG@5", "Hit@5", "popularity only", "similar only", "without social", "mean", "learning took",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, out.String())
		}
	}
}

func TestEvaluateSaysWhatItCannotWorkWith(t *testing.T) {
	t.Parallel()
	lonely := bundleFile(t, `{"type":"user","id":"1","handle":"a"}`+"\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "-likes"},
		{[]string{"-likes", lonely}, "no likes"},
		{[]string{"-likes", lonely + ".absent"}, "opening the bundle"},
		{[]string{"-likes", lonely, "-memory"}, "-redis-url"},
		{[]string{"-likes", lonely, "-without", "luck"}, `"luck" is none of`},
		{[]string{"-likes", lonely, "-weight-topic", "NaN"}, "0 to 100"},
	} {
		err := run(t.Context(), append([]string{"evaluate"}, c.args...), settings{}.getenv, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want an error that says %q", c.args, err, c.want)
		}
	}
}

func TestRecommendationsOfLastfmAreAsGoodAsPromisedAndBetterWithFriends(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("SKIPPING the evaluation of lastfm: under the race detector it takes too long")
	}
	args := []string{"-likes", sharedBundle(t, "lastfm.ndjson.gz"), "-without", "social", "-users", "700"}
	if _, err := exec.LookPath("redis-server"); err == nil { // quicker than the one inside
		args = append(args, "-redis-url", redisserver.Start(t).URL())
	}
	scores, _ := evaluated(t, args...)
	t.Logf("of 700 people: %+v", scores)
	all, alone := scores["all"], scores["without social"]
	if all.NDCG < 0.18 || all.Recall < 0.18 {
		t.Errorf("got NDCG@10 %.4f and Recall@10 %.4f, want at least 0.18", all.NDCG, all.Recall)
	}
	if all.NDCG <= alone.NDCG || all.Recall <= alone.Recall {
		t.Errorf("with the social source %+v, without %+v: want more with it", all, alone)
	}
}
