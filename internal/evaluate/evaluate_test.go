package evaluate

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScoresAreThoseComputedByHand(t *testing.T) {
	t.Parallel()
	const second, third = 0.6309297535714575, 0.5 // 1/log2(3), 1/log2(4)
	for _, c := range []struct {
		name   string
		ranked []feed.ID
		hidden feed.IDSet
		k      int
		want   Scores
	}{
		{"nothing found", []feed.ID{1, 2, 3}, feed.IDSet{9}, 3, Scores{}},
		{"nothing ranked", nil, feed.IDSet{9}, 3, Scores{}},
		{"the only one at the top", []feed.ID{9, 2, 3}, feed.IDSet{9}, 3, Scores{1, 1, 1}},
		{"the only one in the third place", []feed.ID{1, 2, 9}, feed.IDSet{9}, 3, Scores{1, third, 1}},
		{"below the first k", []feed.ID{1, 2, 9}, feed.IDSet{9}, 2, Scores{}},
		{"both at the top", []feed.ID{8, 9, 3}, feed.IDSet{8, 9}, 3, Scores{1, 1, 1}},
		{"one of two, in the second place", []feed.ID{1, 8, 3}, feed.IDSet{8, 9}, 3, Scores{0.5, second / (1 + second), 1}},
		{"more hidden than places", []feed.ID{7, 8}, feed.IDSet{7, 8, 9}, 2, Scores{2.0 / 3, 1, 1}},
		{"fewer ranked than hidden", []feed.ID{7}, feed.IDSet{7, 8}, 10, Scores{0.5, 1 / (1 + second), 1}},
	} {
		got := Score(c.ranked, c.hidden, c.k)
		if !near(got.Recall, c.want.Recall) || !near(got.NDCG, c.want.NDCG) || got.Hit != c.want.Hit {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestMeansCountEveryoneAlike(t *testing.T) {
	t.Parallel()
	got := mean([]Scores{{1, 0.5, 1}, {0, 0, 0}})
	if want := (Scores{0.5, 0.25, 0.5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// world writes a bundle of people who like so many posts each.
func world(likes ...int) string {
	var b strings.Builder
	most := 0
	for i, n := range likes {
		fmt.Fprintf(&b, `{"type":"user","id":"%d","handle":"u%d"}`+"\n", i+1, i+1)
		most = max(most, n)
	}
	fmt.Fprintln(&b, `{"type":"user","id":"99","handle":"author"}`)
	for p := range most {
		fmt.Fprintf(&b, `{"type":"post","id":"%d","author":"99","at":"2020-01-02T03:04:05Z","text":"x"}`+"\n", 1000+p)
	}
	for i, n := range likes {
		for p := range n {
			fmt.Fprintf(&b, `{"type":"like","user":"%d","post":"%d"}`+"\n", i+1, 1000+p)
		}
	}
	return b.String()
}

func read(t *testing.T, text string) *Bundle {
	t.Helper()
	b, err := ReadBundle(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLikesOfEachPersonAreSplitEightToOneToOne(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][parts]int{
		1: {1, 0, 0}, 2: {1, 0, 1}, 3: {1, 1, 1}, 5: {3, 1, 1}, 9: {7, 1, 1}, 10: {8, 1, 1}, 19: {17, 1, 1}, 50: {40, 5, 5}, 57: {47, 5, 5},
	} {
		s := NewSplit(read(t, world(n)), 1)
		if s.Sizes != want {
			t.Errorf("%d likes: got %v, want %v", n, s.Sizes, want)
		}
		var hidden [parts]int
		for _, part := range s.Hidden {
			hidden[part]++
		}
		if hidden != [parts]int{0, want[Valid], want[Test]} {
			t.Errorf("%d likes: hidden are %v, want %v", n, hidden, want[1:])
		}
	}
}

func TestASeedGivesTheSameSplitWhateverTheOrderOfLines(t *testing.T) {
	t.Parallel()
	text := world(30, 20, 7)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Reverse(lines)
	one, turned := NewSplit(read(t, text), 7), NewSplit(read(t, strings.Join(lines, "\n")), 7)
	if !maps.Equal(one.Hidden, turned.Hidden) {
		t.Error("the order of lines changes the split")
	}
	if maps.Equal(one.Hidden, NewSplit(read(t, text), 8).Hidden) {
		t.Error("another seed gives the same split")
	}
}

func TestLikesThatCannotBeRecommendedAreNotHidden(t *testing.T) {
	t.Parallel()
	b := read(t, world(10)+`{"type":"like","user":"99","post":"1000"}
{"type":"like","user":"1","post":"5"}
{"type":"like","user":"98","post":"1000"}
{"type":"like","user":"1","post":"1000"}
nonsense
`)
	if b.Own != 3 {
		t.Errorf("%d likes are left out, want 3: of an own post, of no post, by nobody", b.Own)
	}
	if got := len(b.Likes[1]); got != 10 || len(b.Likes) != 1 {
		t.Errorf("got %d likes by %d people, want 10 by 1: a repeated like is one", got, len(b.Likes))
	}
}

func TestWhatIsHiddenIsNotReadAndEverythingElseIs(t *testing.T) {
	t.Parallel()
	// The last lines repeat likes in other words: they must not leak.
	repeated := strings.Builder{}
	for p := range 10 {
		fmt.Fprintf(&repeated, `{"weight":3,"post":"%d","at":"","user":"1","type":"like"}`+"\n", 1000+p)
	}
	text := world(10, 10) + repeated.String()
	b := read(t, text)
	s := NewSplit(b, 1)
	kept, err := io.ReadAll(&withoutHidden{text: scan(strings.NewReader(text)), hidden: s.Hidden})
	if err != nil {
		t.Fatal(err)
	}
	left := read(t, string(kept))
	if left.Users != b.Users || left.Posts != b.Posts {
		t.Errorf("%d people and %d posts are left, want %d and %d", left.Users, left.Posts, b.Users, b.Posts)
	}
	for user, posts := range b.Likes {
		for _, post := range posts {
			_, hidden := s.Hidden[pair{user, post}]
			if left.Likes[user].Has(post) == hidden {
				t.Errorf("the like of %d by %d: hidden %v, read %v", post, user, hidden, !hidden)
			}
		}
	}
}

func TestOnePersonIsAskedForOnePartAndSkipsTheOthers(t *testing.T) {
	t.Parallel()
	s := NewSplit(read(t, world(30, 1, 2)), 1)
	test, valid := s.questions(Test), s.questions(Valid)
	if len(test) != 2 || len(valid) != 1 {
		t.Fatalf("%d people are asked for by test and %d by valid, want 2 and 1", len(test), len(valid))
	}
	for _, q := range [...]question{test[0], valid[0]} {
		if len(q.hidden) != 3 || len(q.skip) != 27 {
			t.Errorf("%d are to be found and %d skipped, want 3 and 27", len(q.hidden), len(q.skip))
		}
		for _, post := range q.hidden {
			if q.skip.Has(post) {
				t.Errorf("%d is to be found and skipped", post)
			}
		}
	}
}

func TestASampleIsTheSameForASeed(t *testing.T) {
	t.Parallel()
	all := NewSplit(read(t, world(2, 3, 4, 5, 6, 7, 8, 9)), 1).questions(Test)
	users := func(of []question) (ids []feed.ID) {
		for _, q := range of {
			ids = append(ids, q.user)
		}
		return ids
	}
	a, b := users(sampled(all, 4, 5)), users(sampled(all, 4, 5))
	if len(a) != 4 || !slices.Equal(a, b) || !slices.IsSorted(a) {
		t.Errorf("got %v and %v, want the same four in order", a, b)
	}
	if got := sampled(all, 0, 5); len(got) != len(all) {
		t.Errorf("no bound gives %d of %d", len(got), len(all))
	}
}

func TestRowsSwitchSourcesOff(t *testing.T) {
	t.Parallel()
	set := recommend.DefaultSettings()
	rows := ways(&config.Evaluate{Recommend: set})
	if len(rows) != 4 {
		t.Fatalf("got %d rows, want 4", len(rows))
	}
	if s := rows[0].set; s.Popular != set.Popular || s.Similar+s.Topic+s.Social+s.Author+s.Fresh != 0 {
		t.Errorf("popularity only weighs %+v", s)
	}
	if s := rows[1].set; s.Similar != set.Similar || s.Popular+s.Topic+s.Social+s.Author+s.Fresh != 0 {
		t.Errorf("similar only weighs %+v", s)
	}
	want := set
	want.Social, want.SocialRecall = 0, 0
	if rows[2].set != want || rows[3].set != set {
		t.Errorf("without social is %+v, and all is %+v", rows[2].set, rows[3].set)
	}
	rows = ways(&config.Evaluate{Recommend: set, Without: []string{"topic", "author"}})
	want = set
	want.Topic, want.TopicRecall, want.Author = 0, 0, 0
	if len(rows) != 2 || rows[0].set != want || rows[1].set != set {
		t.Errorf("without topic and author: got %+v", rows)
	}
}
