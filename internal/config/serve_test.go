package config

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTheDefaultsAreTheDesignsAndDevelopmentModeIsOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	c, err := ParseServe(nil, env())
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "127.0.0.1:8080" || c.Stores.Data != "./data" || c.Role != RoleAll || !c.Sample || !c.Development() {
		t.Errorf("got %+v", c)
	}
	if c.Feed.BigAuthorFollowers != 10_000 || c.Feed.ActiveWindow != 14*24*time.Hour || c.Feed.InboxLength != 1000 {
		t.Errorf("got %+v", c.Feed)
	}
	for addr, want := range map[string]bool{
		"localhost:1": true, "[::1]:1": true, "127.9.9.9:1": true, "0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false,
	} {
		c, err := ParseServe([]string{"-addr", addr}, env("FEEDGATE_AUTH_SECRET", strings.Repeat("s", 32)))
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if c.Loopback != want || c.Development() {
			t.Errorf("%s: loopback %v, want %v; development mode %v with a secret", addr, c.Loopback, want, c.Development())
		}
	}
}

func TestSecretsAreNeverRepeatedInErrors(t *testing.T) {
	t.Parallel()
	for _, vars := range [][]string{
		{"FEEDGATE_AUTH_SECRET", "hushhush"},
		{"FEEDGATE_REDIS_URL", "http://:hushhush@host"},
		{"FEEDGATE_MONGO_URL", "hushhush"},
	} {
		_, err := ParseServe(nil, env(vars...))
		if err == nil || strings.Contains(err.Error(), "hushhush") || !strings.Contains(err.Error(), vars[0]) {
			t.Errorf("%s: got %v, want an error that names the variable and not its value", vars[0], err)
		}
	}
}

func TestTheDatabaseComesFromTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mongodb://a:1,b:2/social?replicaSet=x": "social",
		"mongodb://a:1":                         "feedgate",
		"mongodb://a:1/?w=1":                    "feedgate",
	} {
		if got := (&Stores{MongoURL: url}).MongoDatabase(); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

func TestTheOperationsPageNamesEverySettingAsItIs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range (&Serve{}).settings(env()).settings {
		bounds := st.bounds
		if strings.Contains(st.unit, "|") {
			bounds = strings.ReplaceAll(st.unit, "|", ", ")
		}
		row := strings.Join([]string{"| `-" + st.name + "`", "`" + st.env + "`", cmp.Or(st.def, "none"), bounds, ""}, " | ")
		if !strings.Contains(string(page), row) {
			t.Errorf("the table of settings lacks the row\n%s", row)
		}
	}
}
