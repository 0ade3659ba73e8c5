package resolvers

import (
	"errors"

	"feedgate/feed"
)

// parseID reads the id of a thing of one kind from an argument or input field.
func parseID(field string, kind feed.NodeKind, s string) (feed.ID, error) {
	n, err := parseNodeID(field, s)
	if err != nil {
		return 0, err
	}
	if n.Kind != kind {
		return 0, feed.BadInput(field, "this is the id of a "+string(n.Kind)+": pass the id of a "+string(kind))
	}
	return n.ID, nil
}

// parseNodeID reads an id of any kind from an argument or input field.
func parseNodeID(field, s string) (feed.NodeID, error) {
	n, err := feed.ParseNodeID(s)
	if bad, ok := errors.AsType[*feed.Error](err); ok {
		return n, feed.BadInput(field, bad.Text)
	}
	return n, err
}

// page reads the arguments of a list in time order, newest first.
func page(kind feed.CursorKind, first *int, after *string) (int, feed.Position, error) {
	return pageFrom(kind, first, after, feed.Newest())
}

func pageFrom(kind feed.CursorKind, first *int, after *string, start feed.Position) (int, feed.Position, error) {
	n, err := feed.PageSize(first)
	if err != nil || after == nil {
		return n, start, err
	}
	pos, err := feed.DecodeCursor(kind, *after)
	return n, pos, err
}

// text gives a nullable text, empty for null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
