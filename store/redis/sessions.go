package redis

import "feedgate/feed"

func (h *Hot) saveSession(b *batch, op *feed.SaveSession) {
	if op.TTL <= 0 {
		b.number("del", sessionKey(op.Token))
		return
	}
	b.status("set", sessionKey(op.Token), op.Data, "px", op.TTL)
}

func (h *Hot) readSession(b *batch, op *feed.ReadSession) {
	got := b.text("get", sessionKey(op.Token))
	b.then(func() {
		op.Data = nil
		if s, err := got.Result(); err == nil {
			op.Data = append([]byte{}, s...)
		}
	})
}
