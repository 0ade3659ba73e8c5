package scalar

import (
	"errors"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

const dateTimeLayout = "2006-01-02T15:04:05.000Z"

// MarshalDateTime writes a moment, given in milliseconds since the Unix
// epoch, in RFC 3339 with milliseconds in UTC.
func MarshalDateTime(ms int64) graphql.Marshaler {
	return appender(func(b []byte) []byte { return AppendDateTime(b, ms) })
}

// UnmarshalDateTime reads a moment in RFC 3339, in any zone.
func UnmarshalDateTime(v any) (int64, error) {
	s, ok := v.(string)
	if !ok {
		return 0, errors.New(`a DateTime is a string such as "2026-03-14T15:09:26.535Z"`)
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, errors.New(`this is no DateTime: write it as in "2026-03-14T15:09:26.535Z"`)
	}
	return t.UnixMilli(), nil
}

const (
	msPerDay = 24 * 60 * 60 * 1000
	// The years that have four digits: from year 0 to 9999.
	firstFourDigits = -62_167_219_200_000
	lastFourDigits  = 253_402_300_799_999
)

// AppendDateTime appends what [MarshalDateTime] writes. It computes the date
// itself: every post of every page has one, and [time.Time.AppendFormat] takes
// as long as the rest of the post.
func AppendDateTime(b []byte, ms int64) []byte {
	b = append(b, '"')
	if ms < firstFourDigits || ms > lastFourDigits {
		b = time.UnixMilli(ms).UTC().AppendFormat(b, dateTimeLayout)
		return append(b, '"')
	}
	days, rest := ms/msPerDay, ms%msPerDay
	if rest < 0 {
		days, rest = days-1, rest+msPerDay
	}
	year, month, day := civil(days)
	b = append(digits2(digits2(b, year/100), year%100), '-')
	b = append(digits2(b, month), '-')
	b = append(digits2(b, day), 'T')
	b = append(digits2(b, rest/3_600_000), ':')
	b = append(digits2(b, rest/60_000%60), ':')
	b = append(digits2(b, rest/1000%60), '.')
	b = digits2(b, rest%1000/10)
	return append(b, '0'+byte(rest%10), 'Z', '"') //nolint:gosec // a digit
}

// digits2 appends a number from 0 to 99 as two digits.
func digits2(b []byte, n int64) []byte {
	return append(b, '0'+byte(n/10), '0'+byte(n%10)) //nolint:gosec // both are digits
}

// civil gives the date of a number of days since 1 January 1970, in the
// Gregorian calendar. It counts in eras of 400 years that begin on 1 March,
// so that the leap day comes last.
func civil(days int64) (year, month, day int64) {
	const daysPerEra = 146_097
	z := days + 719_468 // since 1 March of year 0; not negative from year 0 on but for its first two months
	era := z / daysPerEra
	if z < 0 {
		era = (z - daysPerEra + 1) / daysPerEra
	}
	dayOfEra := z - era*daysPerEra
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153 // months since March
	day = dayOfYear - (153*shifted+2)/5 + 1
	month = shifted + 3
	year = yearOfEra + era*400
	if month > 12 {
		month, year = month-12, year+1
	}
	return year, month, day
}
