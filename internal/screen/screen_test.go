package screen_test

import (
	"strings"
	"testing"

	"feedgate/feed"
	"feedgate/internal/screen"
)

func TestTheScreenSaysWhatHoldsForTheRoleAndTheMode(t *testing.T) {
	t.Parallel()
	somebody := &feed.User{ID: 7, Handle: "alder"}
	for name, c := range map[string]struct {
		screen    screen.Screen
		has, lack []string
	}{
		"development": {
			screen.Screen{Addr: "127.0.0.1:1", Reader: somebody, LastReader: 9, Development: true},
			[]string{"http://127.0.0.1:1/playground?reader=7", "X-Feedgate-User: 7", "others: 8 to 9", "curl", "Development mode"},
			nil,
		},
		"nobody": {
			screen.Screen{Addr: "127.0.0.1:1", Development: true},
			[]string{"createUser", "Development mode"},
			[]string{"curl"},
		},
		"production": {
			screen.Screen{Addr: "10.0.0.1:1"},
			[]string{"http://10.0.0.1:1/graphql"},
			[]string{"Development", "X-Feedgate-User"},
		},
		"workers": {
			screen.Screen{Addr: "127.0.0.1:1", Workers: true, Development: true},
			[]string{"/metrics"},
			[]string{"/graphql", "/playground", "Development"},
		},
	} {
		var said strings.Builder
		if err := c.screen.Print(&said); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.has {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%s: lacks %q:\n%s", name, want, said.String())
			}
		}
		for _, not := range c.lack {
			if strings.Contains(said.String(), not) {
				t.Errorf("%s: has %q:\n%s", name, not, said.String())
			}
		}
	}
}
