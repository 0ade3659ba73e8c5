package feed

import (
	"errors"
	"fmt"
)

// Code is the machine-readable kind of an error, as clients see it in
// extensions.code.
type Code string

// The codes of the public contract.
const (
	CodeUnauthenticated Code = "UNAUTHENTICATED"
	CodeForbidden       Code = "FORBIDDEN"
	CodeNotFound        Code = "NOT_FOUND"
	CodeBadInput        Code = "BAD_USER_INPUT"
	CodeConflict        Code = "CONFLICT"
	CodeRateLimited     Code = "RATE_LIMITED"
	CodeTooComplex      Code = "TOO_COMPLEX"
	CodeUnavailable     Code = "UNAVAILABLE"
	CodeInternal        Code = "INTERNAL"
)

// Error is the one error type that crosses the domain's border: a code, a
// sentence that is safe to show and says what to do, and the cause for logs.
type Error struct {
	Code  Code
	Field string // the input field at fault, for BAD_USER_INPUT and CONFLICT
	Text  string // safe to show
	Cause error  // for logs only
}

// Error gives the text with the cause, for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Text, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Text)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf gives the code of err: that of the first [Error] in its chain, else INTERNAL.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// BadInput is a BAD_USER_INPUT about one field; text says what to do.
func BadInput(field, text string) *Error {
	return &Error{Code: CodeBadInput, Field: field, Text: text}
}

// NotFound is a NOT_FOUND; what names the thing, as in "post".
func NotFound(what string) *Error {
	return &Error{Code: CodeNotFound, Text: "there is no such " + what + ", or you may not see it"}
}

// Conflict is a CONFLICT about one field.
func Conflict(field, text string) *Error {
	return &Error{Code: CodeConflict, Field: field, Text: text}
}

// Forbidden is a FORBIDDEN.
func Forbidden(text string) *Error { return &Error{Code: CodeForbidden, Text: text} }

// Unavailable says that a store could not be asked now; the cause is for logs.
func Unavailable(text string, cause error) *Error {
	return &Error{Code: CodeUnavailable, Text: text, Cause: cause}
}

// Unauthenticated says that a reader is needed and there is none.
func Unauthenticated(text string) *Error { return &Error{Code: CodeUnauthenticated, Text: text} }
