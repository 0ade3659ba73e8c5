package feed

import "context"

// NewUser is what somebody hands in for a new profile.
type NewUser struct {
	Handle, Name, AvatarURL, Bio string
}

// CreateUser makes the profile of r, or, for nobody, a new person: whether that
// is allowed is the caller's to decide. CONFLICT (field "handle") when the
// handle is taken or r has a profile already.
func (s *Service) CreateUser(ctx context.Context, r *Reader, in NewUser) (*User, error) {
	if err := CheckHandle(in.Handle); err != nil {
		return nil, err
	}
	if err := checkProfile(in.Name, in.AvatarURL, in.Bio); err != nil {
		return nil, err
	}
	id := r.id
	if id == 0 {
		var err error
		if id, err = s.ids.NextID(); err != nil {
			return nil, err
		}
	}
	u := User{ID: id, Handle: in.Handle, Name: in.Name, AvatarURL: in.AvatarURL, Bio: in.Bio, CreatedAt: s.now()}
	if err := s.record.CreateUser(ctx, u); err != nil {
		return nil, err
	}
	r.forget()
	return &u, nil
}

// UpdateProfile changes r's own profile; what the patch leaves out stays.
func (s *Service) UpdateProfile(ctx context.Context, r *Reader, p ProfilePatch) (*User, error) {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return nil, err
	}
	if err := checkProfile(deref(p.Name), deref(p.AvatarURL), deref(p.Bio)); err != nil {
		return nil, err
	}
	token := newToken()
	var u User
	err := s.mutate(ctx, mutation{
		hold: []Op{&HoldDetails[User]{IDs: []ID{r.id}, Token: token}},
		write: func(ctx context.Context) error {
			var err error
			u, err = s.record.UpdateUser(ctx, r.id, p)
			return err
		},
		release: func(bool) []Op { return []Op{&ReleaseDetails[User]{IDs: []ID{r.id}, Token: token}} },
	})
	r.forget()
	if err != nil {
		return nil, err
	}
	return &u, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
