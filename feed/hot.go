package feed

import "context"

// Hot is the hot data. Do sends all operations in one round trip, in order,
// and fills in their answers; it is not atomic across operations, each
// operation is as its comment says. When Do fails, some may have been done
// and no answer counts. Its errors are UNAVAILABLE.
//
// Values that were written under another generation than the one in force
// ([Op] implementations compare with what the store was last told by
// SetGeneration) count as missing everywhere.
type Hot interface {
	Do(ctx context.Context, ops ...Op) error
}

// Op is one operation of a round trip; see the types that implement it.
type Op interface{ op() }

// Token is a random name of one attempt: it proves that nobody came between.
type Token string

// HoldTTL is how long a mutation may hold a value back, in milliseconds. A
// mutation ends sooner (its deadline is a third of it); a hold that outlives
// its process ends by itself.
const HoldTTL = 30_000

// LeaseTTL is how long a reader may take to fill in a missing value, in milliseconds.
const LeaseTTL = 5_000

// ----- relations -----

// ReadRelations reads a reader's relations and their version, and makes a
// version when there is none.
type ReadRelations struct {
	User ID
	// answers
	Version    string // "" while a mutation holds it: then nothing may be filled in
	Found      bool   // the stored relations carry this version and the generation in force
	Relations  Relations
	Generation int64 // in force when this was asked
}

// FillRelations stores relations that were read from the record after Version
// was read, if the version still stands. They carry the Generation that was
// in force when Version was read, not the one of now: what was read before a
// generation ended must not outlive it.
type FillRelations struct {
	User       ID
	Version    string
	Relations  Relations
	Generation int64
}

// HoldRelations takes the version of each user's relations away, before a
// mutation writes the record.
type HoldRelations struct {
	Users []ID
	Token Token
}

// ReleaseRelations gives each a new version after the mutation, unless
// another mutation holds it by now.
type ReleaseRelations struct {
	Users []ID
	Token Token
}

// ----- lists: inboxes and outboxes -----

// ListKind says which list of a user.
type ListKind string

// The lists.
const (
	Inbox  ListKind = "inbox"
	Outbox ListKind = "outbox"
)

// List names one list. All its keys share the owner's hash tag.
type List struct {
	Kind  ListKind
	Owner ID
}

// Floor is the proof that a list carries: it is complete for entries at or
// above At while Version, Epoch and generation are those in force.
type Floor struct {
	At      int64
	Version string
	Epoch   int64 // of the reader's active shard, for inboxes; 0 for outboxes
	Raw     string
}

// ReadList reads a list's floor and a page strictly below a position. The
// floor is that of the moment of the page or a higher one. Entries below the
// floor are left out.
type ReadList struct {
	List  List
	Below Position
	Limit int
	// answers
	Version string // of the list now; "" when none stands or a mutation holds it
	Floor   *Floor // nil: the list is missing (no floor, or another generation)
	Entries []Entry
}

// Valid reports whether the list may be believed. Epoch is that of the
// reader's active shard for inboxes, 0 for outboxes.
func (r *ReadList) Valid(epoch int64) bool {
	return r.Floor != nil && r.Version != "" && r.Floor.Version == r.Version && r.Floor.Epoch == epoch
}

// OpenList prepares the filling of a list: it makes a version if there is
// none, and tells version and raw floor, both to be read before the record is.
type OpenList struct {
	List List
	// answers
	Version    string // "" while a mutation holds it
	Raw        string // the raw floor member, "" for none
	Length     int    // entries there are
	Generation int64  // in force when this was asked
}

// MergeList adds entries to what is there and sets the floor, if version and
// raw floor are still those of OpenList, and lets the list live for TTL. Atomic.
type MergeList struct {
	List       List
	Version    string
	Raw        string
	Entries    []Entry
	Floor      Floor // Raw is not used
	TTL        int64 // ms
	Generation int64 // of OpenList; the floor carries it
	// answer
	Merged bool
}

// HoldList takes the list's version away before a mutation that adds to the
// list writes the record, and tells which version that was.
type HoldList struct {
	List  List
	Token Token
	// answer
	Was string // "" when there was none
}

// CommitList ends a HoldList after the record was written. If nobody else came
// between and the list's floor carries the version Was (and the generation),
// it adds the entries, raises the floor to Raise if that is higher, and gives
// list and floor a new version; else the list merely gets a new version, and so is
// invalid. If another mutation holds the list, that one's hold stands. Atomic.
type CommitList struct {
	List    List
	Token   Token
	Was     string
	Entries []Entry
	Raise   int64
}

// RenewList lets a list live for TTL (ms) from now.
type RenewList struct {
	List List
	TTL  int64
}

// TrimList cuts a list to its newest Keep entries, if it has more than
// Keep + Slack, and raises the floor to just above what was cut. Atomic.
type TrimList struct {
	List        List
	Keep, Slack int
}

// RemoveEntries removes entries whose posts are gone.
type RemoveEntries struct {
	List List
	IDs  []ID
}

// ----- active readers -----

// TouchActive marks a reader as active on a day (days since the epoch; the
// mark only moves forward) and tells the epoch of the shard. Make creates the
// epoch (ms since the epoch of Unix) when there is none.
type TouchActive struct {
	Reader ID
	Day    int64
	Make   int64 // 0: do not make
	// answer
	Epoch int64 // 0: the shard is missing; everybody counts as active
}

// ----- authors in flight -----

// ReadMarks tells which of the authors are in flight.
type ReadMarks struct {
	Authors []ID
	// answers
	InFlight   []ID
	Unknown    bool  // a shard has no sentinel of the generation in force: ask the record
	Generation int64 // in force when this was asked
}

// MarkInFlight marks an author in flight under a version that was never used before.
type MarkInFlight struct {
	Author ID
	Now    int64 // ms
}

// FillMarks marks the authors of all unfinished duties and then declares every
// shard known in a generation: that in force before the record was read, since
// marks may have been lost with it meanwhile. Each shard is one atomic command.
type FillMarks struct {
	Authors    []ID
	Now        int64
	Generation int64 // of ReadMarks
}

// ----- details: posts, their stats, users, their counters -----

// DetailState says what was found for one id.
type DetailState uint8

// The states.
const (
	Missing DetailState = iota // not there: load it from the record
	Found
	Gone // deleted: a tombstone stands
)

// Detail is what can be kept by id. The store keeps each kind in a compact form.
type Detail interface {
	Post | Stats | User | UserCounts | Tastes | Views
}

// GetDetails reads details by id. With a Lease, it also asks for the lease of
// each id, found or not, for callers who know that most are missing.
type GetDetails[T Detail] struct {
	IDs   []ID
	Lease Token // "" for none
	// answers, by index of IDs
	State      []DetailState
	Values     []T
	Leased     []bool // with Lease: whether this caller may fill the id in
	Generation int64  // in force when this was asked
}

// LeaseDetails asks for the right to fill in missing details.
type LeaseDetails[T Detail] struct {
	IDs   []ID
	Token Token
	// answers
	Leased     []bool
	Generation int64 // in force when this was asked
}

// FillDetails stores values that were read from the record after the lease was
// got, each if its lease still stands, and ends the leases. Each id is atomic.
type FillDetails[T Detail] struct {
	IDs        []ID
	Values     []T
	Token      Token
	Generation int64 // of the lease; the values carry it
}

// HoldDetails drops values and leases and keeps anybody from filling them in,
// before a mutation writes the record.
type HoldDetails[T Detail] struct {
	IDs   []ID
	Token Token
}

// ReleaseDetails ends a hold after the record was written: the values are
// dropped once more; with Gone a tombstone takes their place that outlives
// every request; with Values (same length as IDs) these are stored, if no
// other mutation holds the id.
type ReleaseDetails[T Detail] struct {
	IDs    []ID
	Token  Token
	Gone   bool
	Values []T
}

// ----- work -----

// Ring tells the dispatchers of a lane that a post has a duty. Bounded: old
// bells may be lost, and the sweeper finds what they meant.
type Ring struct {
	Lane Lane
	Post ID
}

// TakeLease takes a named lease for a user for TTL (ms), if it is free.
type TakeLease struct {
	Name  string
	User  ID
	Token Token
	TTL   int64
	// answer
	Taken bool
}

// DropLease ends a lease that Token holds.
type DropLease struct {
	Name  string
	User  ID
	Token Token
}

func (*ReadRelations) op()     {}
func (*FillRelations) op()     {}
func (*HoldRelations) op()     {}
func (*ReleaseRelations) op()  {}
func (*ReadList) op()          {}
func (*OpenList) op()          {}
func (*MergeList) op()         {}
func (*HoldList) op()          {}
func (*CommitList) op()        {}
func (*RenewList) op()         {}
func (*TrimList) op()          {}
func (*RemoveEntries) op()     {}
func (*TouchActive) op()       {}
func (*ReadMarks) op()         {}
func (*MarkInFlight) op()      {}
func (*FillMarks) op()         {}
func (*GetDetails[T]) op()     {}
func (*LeaseDetails[T]) op()   {}
func (*FillDetails[T]) op()    {}
func (*HoldDetails[T]) op()    {}
func (*ReleaseDetails[T]) op() {}
func (*Ring) op()              {}
func (*TakeLease) op()         {}
func (*DropLease) op()         {}
