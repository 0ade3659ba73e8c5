// Package evaluate measures recommendation offline, on a bundle of people,
// posts and likes: it hides some likes of each person, lets the real learner
// learn from the rest, and asks the real engine for the posts that are most
// worth the person's while. How many of the hidden likes are among them, and how
// high, is what recommenders are compared by.
//
//	bundle ──▶ split: likes of each person, at random, 8 : 1 : 1
//	              │ train                        │ test (or valid)
//	              ▼                              │
//	  importer ─▶ record ─▶ learner ─▶ boards    │
//	                          │                  ▼
//	  engine: its k best posts of all ──▶ Recall@k, NDCG@k, Hit@k
//
// Ranking is full: every post competes, but for those that the person likes in
// the parts that are not asked for. Figures are means over the people with at
// least one hidden like. Weights can be switched without learning anew, so that
// one learned world gives all rows of the table.
package evaluate
