package sqlite_test

import (
	"testing"

	"go.uber.org/goleak"

	"feedgate/store/sqlite"
	"feedgate/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRecordKeepsItsPromises(t *testing.T) {
	t.Parallel()
	storetest.RunRecord(t, 2_000, func(t *testing.T, hook func(string)) storetest.Record {
		t.Helper()
		return storetest.SQLite(t, sqlite.WithHook(hook))
	})
}
