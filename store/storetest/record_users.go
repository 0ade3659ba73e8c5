package storetest

import (
	"strings"

	"feedgate/feed"
)

// awkward are texts that stores are known to break.
func awkward() []string {
	return []string{
		"", " ", "a\x00b", "'); DROP TABLE users;--", `"quoted" \ $set {$ne: 1}`, "👩‍👩‍👧‍👦 ﷽ Ω≈ç", "\u202eright to left\u202c",
		"line\nbreak\r\n\ttab", strings.Repeat("ö", 10_000), "\ufeff\ufffd\uffff",
	}
}

func userTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a created user is read as it was written":     testCreateUser,
		"a handle and an id are taken once":            testUserConflict,
		"a patch changes what it names":                testUpdateUser,
		"only users that exist are read, each once":    testUsersByID,
		"many users are read in chunks":                testUsersInChunks,
		"a handle made by many at once has one owner":  testHandleRace,
		"awkward texts come back as they were written": testAwkwardProfiles,
	}
}

func testCreateUser(s *suite) {
	t := s.t
	u := feed.User{ID: s.seq.Next(), Handle: "ada_1", Name: "Ada", AvatarURL: "https://example.org/a.png", Bio: "counts", CreatedAt: now}
	wantNoError(t, s.rec.CreateUser(t.Context(), u))
	want := feed.UserRow{User: u}
	if got := s.readUser(t, u.ID); got != want {
		t.Errorf("by id: got %+v, want %+v", got, want)
	}
	got, err := s.rec.UserByHandle(t.Context(), "ada_1")
	if err != nil || got != want {
		t.Errorf("by handle: got %+v, %v, want %+v", got, err, want)
	}
	_, err = s.rec.UserByHandle(t.Context(), "ada")
	wantCode(t, err, feed.CodeNotFound, "")
}

func testUserConflict(s *suite) {
	t := s.t
	ada := feed.User{ID: s.seq.Next(), Handle: "ada", CreatedAt: now}
	wantNoError(t, s.rec.CreateUser(t.Context(), ada))
	wantCode(t, s.rec.CreateUser(t.Context(), feed.User{ID: s.seq.Next(), Handle: "ada"}), feed.CodeConflict, "handle")
	wantCode(t, s.rec.CreateUser(t.Context(), feed.User{ID: ada.ID, Handle: "bob"}), feed.CodeConflict, "handle")
	if got := s.readUser(t, ada.ID).User; got != ada {
		t.Errorf("after the conflicts: got %+v, want %+v", got, ada)
	}
	_, err := s.rec.UserByHandle(t.Context(), "bob")
	wantCode(t, err, feed.CodeNotFound, "")
}

func testUpdateUser(s *suite) {
	t := s.t
	u := feed.User{ID: s.seq.Next(), Handle: "ada", Name: "Ada", AvatarURL: "a", Bio: "b", CreatedAt: now}
	wantNoError(t, s.rec.CreateUser(t.Context(), u))
	name, none := "Ada L.", ""
	for _, step := range []struct {
		patch feed.ProfilePatch
		want  feed.User
	}{
		{feed.ProfilePatch{}, u},
		{feed.ProfilePatch{Name: &name}, feed.User{ID: u.ID, Handle: "ada", Name: name, AvatarURL: "a", Bio: "b", CreatedAt: now}},
		{feed.ProfilePatch{AvatarURL: &none, Bio: &name}, feed.User{ID: u.ID, Handle: "ada", Name: name, Bio: name, CreatedAt: now}},
	} {
		got, err := s.rec.UpdateUser(t.Context(), u.ID, step.patch)
		if err != nil || got != step.want {
			t.Fatalf("got %+v, %v, want %+v", got, err, step.want)
		}
		if read := s.readUser(t, u.ID).User; read != step.want {
			t.Fatalf("read %+v, want %+v", read, step.want)
		}
	}
	for _, patch := range []feed.ProfilePatch{{}, {Name: &name}} {
		_, err := s.rec.UpdateUser(t.Context(), s.seq.Next(), patch)
		wantCode(t, err, feed.CodeNotFound, "")
	}
}

func testUsersByID(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	asked := []feed.ID{b, s.seq.Next(), a, b}
	rows, err := s.rec.UsersByID(t.Context(), asked)
	wantSet(t, a, b)(userIDs(rows), err)
	if asked[0] != b || asked[2] != a {
		t.Errorf("the ids asked for were reordered: %v", asked)
	}
	rows, err = s.rec.UsersByID(t.Context(), nil)
	wantSet(t)(userIDs(rows), err)
}

func userIDs(rows []feed.UserRow) []feed.ID {
	ids := make([]feed.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

func testUsersInChunks(s *suite) {
	t := s.t
	ids := s.users(t, 1_100)
	rows, err := s.rec.UsersByID(t.Context(), ids)
	wantSet(t, ids...)(userIDs(rows), err)
	if n := s.cost(func() { _, err = s.rec.UsersByID(t.Context(), ids[:100]) }); n != 1 || err != nil {
		t.Errorf("100 users took %d commands, %v, want 1", n, err)
	}
}

func testHandleRace(s *suite) {
	t := s.t
	const tries = 8
	errs := make([]error, tries)
	atOnce(tries, func(i int) {
		errs[i] = s.rec.CreateUser(t.Context(), feed.User{ID: s.seq.Next(), Handle: "wanted", CreatedAt: now})
	})
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, err, feed.CodeConflict, "handle")
	}
	if won != 1 {
		t.Errorf("%d users got the handle, want 1", won)
	}
}

func testAwkwardProfiles(s *suite) {
	t := s.t
	for _, text := range awkward() {
		id := s.seq.Next()
		u := feed.User{ID: id, Handle: "u" + id.String(), Name: text, AvatarURL: text, Bio: text, CreatedAt: -now}
		wantNoError(t, s.rec.CreateUser(t.Context(), u))
		if got := s.readUser(t, id).User; got != u {
			t.Errorf("got %#v, want %#v", got, u)
		}
	}
}
