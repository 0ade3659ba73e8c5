package config

import "strings"

// Import is what an import runs with.
type Import struct {
	Stores  Stores
	Rejects string // the file for refused lines, "" for none
	Strict  bool
	Quiet   bool
	Files   []string
}

// ParseImport reads the settings of the import command.
func ParseImport(args []string, getenv func(string) string) (*Import, error) {
	c := &Import{}
	s := NewSet("import",
		"Read people, follows, posts and likes from bundles into the record.", "FILE.ndjson[.gz] ...", getenv)
	addStores(s, &c.Stores)
	s.Group("The import")
	s.String(&c.Rejects, "rejects", "FILE", "", "Write every refused line there, as JSON: file, line, reason.", nil)
	s.Bool(&c.Strict, "strict", false, "End with an error when a line was refused.")
	s.Bool(&c.Quiet, "quiet", false, "Show no progress, even on a terminal.")
	s.Outro(`A bundle has one JSON object a line; "-" reads the standard input. Users come before what names them:
  {"type":"user","id":"1","handle":"cedar","name":"Cedar"}
  {"type":"user","id":"2","handle":"puffin","name":"Puffin"}
  {"type":"follow","follower":"1","followee":"2","at":"2026-01-02T03:04:05Z"}
  {"type":"post","id":"9","author":"2","at":"2026-01-02T03:04:05Z","text":"...",
   "place":{"lat":40.7,"lon":-73.8},"topics":["..."],"attributes":{}}
  {"type":"like","user":"1","post":"9","at":"...","weight":3}
at is optional for follows and likes; place, topics, attributes and weight are, too.

A bad line is refused with its number and the reason, and the import goes on. Repeating an import
changes nothing. It may run beside a server: readers see what came in two seconds after its end.

Examples:
  feedgate import people.ndjson posts.ndjson.gz
  generate | feedgate import -data /var/lib/feedgate -`)
	rest, err := s.Parse(args)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, &UsageError{Command: "import", Text: "Which files? Name one or more, or - for the standard input."}
	}
	for _, file := range rest {
		if strings.HasPrefix(file, "-") && file != "-" {
			return nil, &UsageError{Command: "import", Text: "Flags come before the files: " + file + " does not. (A file of that name is ./" + file + ".)"}
		}
	}
	c.Files = rest
	return c, nil
}
