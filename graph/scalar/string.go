package scalar

import (
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// AppendString appends a JSON string, escaped as gqlgen does: only what JSON
// demands. Bytes that are no UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			b = appendEscape(append(b, s[start:i]...), c)
			start = i + 1
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	default:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
	}
}
