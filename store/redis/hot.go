package redis

import (
	"context"
	"fmt"

	"feedgate/feed"
)

var _ feed.Hot = (*Hot)(nil)

// Do implements [feed.Hot].
func (h *Hot) Do(ctx context.Context, ops ...feed.Op) error {
	b := h.newBatch(ctx)
	var ends boardEnds
	for _, op := range ops {
		if h.queueBoardChange(b, &ends, op) {
			continue
		}
		h.endBoards(b, &ends)
		if !h.queueList(b, op) && !h.queueMark(b, op) && !h.queueDetail(b, op) && !h.queueCell(b, op) && !h.queueLearning(b, op) {
			return &feed.Error{Code: feed.CodeInternal, Text: "something went wrong here", Cause: fmt.Errorf("redis: unknown operation %T", op)}
		}
	}
	h.endBoards(b, &ends)
	return b.run()
}

// queueList adds the commands of an operation on lists or relations.
func (h *Hot) queueList(b *batch, op feed.Op) bool {
	switch op := op.(type) {
	case *feed.ReadRelations:
		h.readRelations(b, op)
	case *feed.FillRelations:
		h.fillRelations(b, op)
	case *feed.HoldRelations:
		h.holdRelations(b, op)
	case *feed.ReleaseRelations:
		h.releaseRelations(b, op)
	case *feed.ReadList:
		h.readList(b, op)
	case *feed.OpenList:
		h.openList(b, op)
	case *feed.MergeList:
		h.mergeList(b, op)
	case *feed.HoldList:
		h.holdList(b, op)
	case *feed.CommitList:
		h.commitList(b, op)
	case *feed.RenewList:
		h.renewList(b, op)
	case *feed.TrimList:
		h.trimList(b, op)
	case *feed.RemoveEntries:
		h.removeEntries(b, op)
	default:
		return false
	}
	return true
}

// queueMark adds the commands of an operation on marks, leases or bells.
func (h *Hot) queueMark(b *batch, op feed.Op) bool {
	switch op := op.(type) {
	case *feed.TouchActive:
		h.touchActive(b, op)
	case *feed.ReadMarks:
		h.readMarks(b, op)
	case *feed.MarkInFlight:
		h.markInFlight(b, op)
	case *feed.FillMarks:
		h.fillMarks(b, op)
	case *feed.Ring:
		h.ring(b, op)
	case *feed.Announce:
		h.announce(b, op)
	case *feed.TakeLease:
		h.takeLease(b, op)
	case *feed.DropLease:
		h.dropLease(b, op)
	default:
		return false
	}
	return true
}

// queueCell adds the commands of an operation on cells.
func (h *Hot) queueCell(b *batch, op feed.Op) bool {
	switch op := op.(type) {
	case *feed.ReadCell:
		h.readCell(b, op)
	case *feed.OpenCell:
		h.openCell(b, op)
	case *feed.MergeCell:
		h.mergeCell(b, op)
	case *feed.AddToCells:
		h.addToCells(b, op)
	case *feed.RemoveFromCell:
		h.removeFromCell(b, op)
	default:
		return false
	}
	return true
}

// queueBoardChange adds the commands of an operation that changes the scores
// of a board, but for those that endBoards adds.
func (h *Hot) queueBoardChange(b *batch, ends *boardEnds, op feed.Op) bool {
	switch op := op.(type) {
	case *feed.ChangeBoard:
		h.changeBoard(b, ends, op)
	case *feed.PutOnBoard:
		h.putOnBoard(b, ends, op)
	default:
		return false
	}
	return true
}

// queueLearning adds the commands of any other operation of recommendation.
func (h *Hot) queueLearning(b *batch, op feed.Op) bool {
	switch op := op.(type) {
	case *feed.ReadBoard:
		h.readBoard(b, op)
	case *feed.TakeOffBoard:
		h.takeOffBoard(b, op)
	case *feed.ReadLearning:
		h.readLearning(b, op)
	case *feed.SaveLearning:
		h.saveLearning(b, op)
	case *feed.ReadLearned:
		h.readLearned(b, op)
	case *feed.SaveLearned:
		h.saveLearned(b, op)
	case *feed.MarkUnlearned:
		h.markUnlearned(b, op)
	case *feed.TakeUnlearned:
		h.takeUnlearned(b, op)
	case *feed.DropUnlearned:
		h.dropUnlearned(b, op)
	case *feed.SaveSession:
		h.saveSession(b, op)
	case *feed.ReadSession:
		h.readSession(b, op)
	default:
		return false
	}
	return true
}

// queueDetail adds the commands of an operation on details.
func (h *Hot) queueDetail(b *batch, op feed.Op) bool {
	return queueDetailOf[feed.Post](h, b, op) || queueDetailOf[feed.Stats](h, b, op) ||
		queueDetailOf[feed.User](h, b, op) || queueDetailOf[feed.UserCounts](h, b, op) ||
		queueDetailOf[feed.Tastes](h, b, op) || queueDetailOf[feed.Views](h, b, op)
}

func queueDetailOf[T feed.Detail](h *Hot, b *batch, op feed.Op) bool {
	switch op := op.(type) {
	case *feed.GetDetails[T]:
		getDetails(h, b, op)
	case *feed.LeaseDetails[T]:
		leaseDetails(h, b, op)
	case *feed.FillDetails[T]:
		fillDetails(h, b, op)
	case *feed.HoldDetails[T]:
		holdDetails(h, b, op)
	case *feed.ReleaseDetails[T]:
		releaseDetails(h, b, op)
	default:
		return false
	}
	return true
}
