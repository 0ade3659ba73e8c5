// Package model holds the objects that GraphQL fields are read from. Whoever
// makes a post, a comment or a person loads what the query wants along with
// it, for a whole list at once, into a [Shelf]; the fields are then plain
// methods, for which gqlgen starts no goroutine. A field whose data could not
// be loaded gives the error of the load, so that it alone becomes null.
package model
