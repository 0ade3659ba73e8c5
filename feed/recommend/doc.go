// Package recommend recalls, ranks and spaces posts for recommendFeed, and keeps
// up the boards that it reads.
package recommend
