package mongo

// WithCellsAtOnce lets few posts make many sets for fillCells.
func WithCellsAtOnce(n int64) Option {
	return func(r *Record) { r.cellsAtOnce = n }
}
