// Package recommend recalls, ranks and spaces posts for recommendFeed, and keeps
// up the boards that it reads.
//
// # From likes to a page
//
//	like, comment, repost, and their undoing
//	   │ the record; the user is noted
//	   ▼
//	Learner ── what counts of the user now, less what is counted ──▶ boards
//	   the record is asked for both; both are functions of the         │
//	   user's newest 200 engagements, so that undoing is exact         │
//	                                                                    │
//	Engine                                                              │
//	   1  boards of the newest 50 engagements, trending, fresh ◀────────┤
//	      beside it: those posts, and the tastes of ≤ 100 followees     │
//	   2  boards of the ≤ 8 best topics, posts of the ≤ 5 best authors ◀┘
//	   3  the candidates' posts ──▶ filter ──▶ score ──▶ space
//	   4  if there are too few: trending further down, newest posts
//
// Each source (similar, topic, social, trending, author, fresh) is a type of its
// own behind one interface. Those that need the hot data ask in round trips that
// they share; when one fails, each asks again by itself, and those that fail
// are counted and left out. When none answers, the newest posts come in time order.
//
// # The score
//
// S are the reader's seeds (newest 50 engagements), n a post's likes, comments
// and reposts, co(j, i) how many people engaged with both j and i:
//
//	similar = Σ over j in S of √co(j, i) / (n_i^0.35 · n_j^0.30), over the highest one
//	topic   = cos(Σ over j in S of v_j, v_i); v is of length 1, ln(1 + all/with) on its topics
//	social  = Σ over followees f with i of w_f · n_i^-0.2 / (Σ over all f of w_f, + 1)
//	          w_f = (|S ∩ L_f| + 1) / √(|L_f| · |S|), L_f the newest 100 of f
//	popular = ln(1 + N·s_i/s) / ln(1 + N); s_i fades by half in 24 h,
//	          s is the highest of them, N the engagements of the most popular post at hand
//	author  = √(share of S that is by the author)
//	fresh   = 2^(-age / 48 h), by whole hours
//
//	c     = 1.5·|S| / (|S| + 20)
//	score = c·(1.0·similar + 0.15·topic + 0.30·author) + 1.6·social + 0.10·popular + 0.05·fresh
//
// The root in similar is between counting (which finds the popular) and asking
// whether at all (which finds the accidental); the exponents of n are those of
// asymmetric cosine similarity. Both, w_f and the weights without author and
// fresh were chosen on validation splits of lastfm-2k (HetRec 2011); see
// docs/adr/0011-recommendations.md. That a list is cut by raw count and with
// slack matters more than any weight: cut at once, a newcomer never gets in.
//
// The reason of a recommendation is the feature that gave most.
//
// # Epochs
//
// Scores that fade grow instead: an engagement adds 2^((at - epoch)/half-life).
// Boards belong to an epoch, which is begun anew when the boards were lost (the
// generation of the hot data tells) and when they are 25 days old, before
// anything that was counted expires. While the new ones are built the old ones
// serve, and what happens is counted on both. Building is resumable: any learner
// goes on from the mark that was saved last.
package recommend
