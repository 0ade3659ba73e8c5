package redis

import (
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

// detailKind is how a kind of detail is kept.
type detailKind struct {
	value, lease string // names in the keys
	ttl          time.Duration
}

// tombstoneTTL outlives every request by far.
const tombstoneTTL = 10 * time.Minute

func kindOf[T feed.Detail]() detailKind {
	switch any((*T)(nil)).(type) {
	case *feed.Post:
		return detailKind{value: "post", lease: "postlease", ttl: time.Hour}
	case *feed.Stats:
		return detailKind{value: "stats", lease: "statslease", ttl: 10 * time.Minute}
	case *feed.User:
		return detailKind{value: "user", lease: "userlease", ttl: time.Hour}
	case *feed.Tastes:
		return detailKind{value: "tastes", lease: "tasteslease", ttl: time.Hour}
	case *feed.Views:
		return detailKind{value: "views", lease: "viewslease", ttl: time.Hour}
	default:
		return detailKind{value: "counts", lease: "countslease", ttl: time.Hour}
	}
}

func (k *detailKind) valueKey(id feed.ID) string { return tagged(k.value, int64(id)) }

func (k *detailKind) leaseKey(id feed.ID) string { return tagged(k.lease, int64(id)) }

// keys gives the keys that the scripts on details take.
func (k *detailKind) keys(ids []feed.ID) []string {
	keys := make([]string, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, k.valueKey(id), k.leaseKey(id))
	}
	return keys
}

// scriptIDs is how many ids one call of a script takes on a single server: the
// in-process one takes a hundred times as long to begin a script as to do it.
const scriptIDs = 100

// inScripts calls f with the bounds of the ids for each call of a script: in a
// Cluster one, since ids are in different slots.
func (h *Hot) inScripts(n int, f func(from, to int)) {
	step := scriptIDs
	if h.cluster {
		step = 1
	}
	for from := 0; from < n; from += step {
		f(from, min(from+step, n))
	}
}

// leaseText is a reader's lease.
func leaseText(token feed.Token) string { return "l" + string(token) }

func getDetails[T feed.Detail](h *Hot, b *batch, op *feed.GetDetails[T]) {
	op.State, op.Values, op.Leased = nil, nil, nil
	gen := h.gen.Load()
	op.Generation = gen
	if len(op.IDs) == 0 {
		return
	}
	kind := kindOf[T]()
	value := h.getAll(b, &kind, op.IDs)
	var leases func() []bool
	if op.Lease != "" {
		leases = takeLeases(b, &kind, op.IDs, leaseText(op.Lease))
	}
	b.then(func() {
		op.State = make([]feed.DetailState, len(op.IDs))
		op.Values = make([]T, len(op.IDs))
		for i, id := range op.IDs {
			if s := value(i); s != "" {
				op.State[i] = decodeDetail(s, gen, id, &op.Values[i])
			}
		}
		if leases != nil {
			op.Leased = leases()
		}
	})
}

// getAll reads the values of ids: one command on a single server, one for each
// in a Cluster, whose slots they are spread over.
func (h *Hot) getAll(b *batch, kind *detailKind, ids []feed.ID) func(i int) string {
	if h.cluster {
		keys := taggedKeys(kind.value, ids)
		cmds := make([]*goredis.StringCmd, len(ids))
		for i := range ids {
			cmds[i] = b.text("get", keys[i])
		}
		return func(i int) string { return cmds[i].Val() }
	}
	keys := taggedKeys(kind.value, ids)
	args := make([]any, 0, 1+len(ids))
	args = append(args, "mget")
	for i := range keys {
		args = append(args, h.keyArg(&keys[i]))
	}
	got := b.slice(args...)
	return func(i int) string { return textAt(got.Val(), i) }
}

func takeLeases(b *batch, kind *detailKind, ids []feed.ID, lease string) func() []bool {
	cmds := make([]*goredis.StatusCmd, len(ids))
	for i, id := range ids {
		cmds[i] = b.status("set", kind.leaseKey(id), lease, "nx", "px", feed.LeaseTTL)
	}
	return func() []bool {
		leased := make([]bool, len(cmds))
		for i, cmd := range cmds {
			leased[i] = cmd.Val() == "OK"
		}
		return leased
	}
}

func leaseDetails[T feed.Detail](h *Hot, b *batch, op *feed.LeaseDetails[T]) {
	op.Generation = h.gen.Load()
	kind := kindOf[T]()
	leases := takeLeases(b, &kind, op.IDs, leaseText(op.Token))
	b.then(func() { op.Leased = leases() })
}

func fillDetails[T feed.Detail](h *Hot, b *batch, op *feed.FillDetails[T]) {
	kind := kindOf[T]()
	h.inScripts(len(op.IDs), func(from, to int) {
		args := make([]any, 0, 2+to-from)
		args = append(args, leaseText(op.Token), kind.ttl.Milliseconds())
		for i := from; i < to; i++ {
			args = append(args, appendDetail(nil, op.Generation, &op.Values[i]))
		}
		b.script(h.scripts.fillDetails, kind.keys(op.IDs[from:to]), args...)
	})
}

func holdDetails[T feed.Detail](h *Hot, b *batch, op *feed.HoldDetails[T]) {
	kind := kindOf[T]()
	h.inScripts(len(op.IDs), func(from, to int) {
		b.script(h.scripts.holdDetails, kind.keys(op.IDs[from:to]), string(op.Token), feed.HoldTTL)
	})
}

func releaseDetails[T feed.Detail](h *Hot, b *batch, op *feed.ReleaseDetails[T]) {
	gen := h.gen.Load()
	kind := kindOf[T]()
	ttl := kind.ttl
	if op.Gone {
		ttl = tombstoneTTL
	}
	h.inScripts(len(op.IDs), func(from, to int) {
		args := make([]any, 0, 3+to-from)
		args = append(args, string(op.Token), ttl.Milliseconds(), feed.HoldTTL)
		for i := from; i < to; i++ {
			var value []byte
			switch {
			case op.Gone:
				value = appendTombstone(nil, gen)
			case i < len(op.Values):
				value = appendDetail(nil, gen, &op.Values[i])
			}
			args = append(args, value)
		}
		b.script(h.scripts.releaseDetails, kind.keys(op.IDs[from:to]), args...)
	})
}
