package folder_test

import (
	"errors"
	"path/filepath"
	"testing"

	"feedgate/internal/folder"
)

func TestAFolderIsTakenAloneOrShared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second folder.Use
		want          error
	}{
		{folder.Alone, folder.Alone, folder.ErrTaken},
		{folder.Alone, folder.Shared, folder.ErrTaken},
		{folder.Shared, folder.Alone, folder.ErrTaken},
		{folder.Shared, folder.Shared, nil},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		release, err := folder.Lock(dir, c.first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := folder.Lock(dir, c.second)
		if !errors.Is(err, c.want) {
			t.Errorf("%v after %v: got %v, want %v", c.second, c.first, err, c.want)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
		if second == nil {
			if second, err = folder.Lock(dir, c.second); err != nil {
				t.Errorf("%v after the other let go: %v", c.second, err)
				continue
			}
		}
		if err := second(); err != nil {
			t.Fatal(err)
		}
	}
}
