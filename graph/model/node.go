package model

// Node is what can be fetched by its id: [*User], [*Post] or [*Comment].
type Node interface {
	IsNode()
}

var (
	_ Node = (*User)(nil)
	_ Node = (*Post)(nil)
	_ Node = (*Comment)(nil)
)
