package redis

import "feedgate/feed"

// bellsKept is how many bells of a lane are kept at most, about.
const bellsKept = 100_000

func (h *Hot) ring(b *batch, op *feed.Ring) {
	b.text("xadd", bellsKey(op.Lane), "maxlen", "~", bellsKept, "*", "p", int64(op.Post))
}

func (h *Hot) takeLease(b *batch, op *feed.TakeLease) {
	cmd := b.status("set", takenKey(op.Name, op.User), string(op.Token), "nx", "px", op.TTL)
	b.then(func() { op.Taken = cmd.Val() == "OK" })
}

func (h *Hot) dropLease(b *batch, op *feed.DropLease) {
	b.script(h.scripts.dropLease, []string{takenKey(op.Name, op.User)}, string(op.Token))
}
