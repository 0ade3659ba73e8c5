package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

// random gives a name that was never used before.
func random() string { return rand.Text()[:16] }

// batch collects the commands of one round trip and what is to be done with
// their answers.
type batch struct {
	h       *Hot
	ctx     context.Context //nolint:containedctx // the driver binds a command to its context when it is made
	cmds    []goredis.Cmder
	scripts []scripted
	thens   []func()
}

// scripted is a call of a script, with what it takes to repeat it by text.
type scripted struct {
	cmd    *goredis.Cmd
	source string
}

func (h *Hot) newBatch(ctx context.Context) *batch { return &batch{h: h, ctx: ctx} }

// then has f called when all answers are there and no command failed.
func (b *batch) then(f func()) { b.thens = append(b.thens, f) }

func (b *batch) add(cmd goredis.Cmder) { b.cmds = append(b.cmds, cmd) }

// status adds a command that answers OK, or nothing when it did not apply.
func (b *batch) status(args ...any) *goredis.StatusCmd {
	cmd := goredis.NewStatusCmd(b.ctx, args...)
	b.add(cmd)
	return cmd
}

// text adds a command that answers a text, or nothing.
func (b *batch) text(args ...any) *goredis.StringCmd {
	cmd := goredis.NewStringCmd(b.ctx, args...)
	b.add(cmd)
	return cmd
}

// texts adds a command that answers a list of texts.
func (b *batch) texts(args ...any) *goredis.StringSliceCmd {
	cmd := goredis.NewStringSliceCmd(b.ctx, args...)
	b.add(cmd)
	return cmd
}

// slice adds a command that answers a list of texts with gaps.
func (b *batch) slice(args ...any) *goredis.SliceCmd {
	cmd := goredis.NewSliceCmd(b.ctx, args...)
	b.add(cmd)
	return cmd
}

// number adds a command that answers a number.
func (b *batch) number(args ...any) *goredis.IntCmd {
	cmd := goredis.NewIntCmd(b.ctx, args...)
	b.add(cmd)
	return cmd
}

// script adds the call of a script by its hash.
func (b *batch) script(s script, keys []string, args ...any) *goredis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.hash, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	all = append(all, args...)
	cmd := goredis.NewCmd(b.ctx, all...)
	b.add(cmd)
	b.scripts = append(b.scripts, scripted{cmd: cmd, source: s.source})
	return cmd
}

// run sends the commands in one round trip and settles their answers. Calls of
// scripts that a server does not know are sent once more, by text, in another.
func (b *batch) run() error {
	if err := b.send(b.cmds); err != nil {
		return err
	}
	if err := b.repeatUnknown(); err != nil {
		return err
	}
	for _, then := range b.thens {
		then()
	}
	return nil
}

// repeatUnknown sends the calls that met no script once more, and the reads
// that follow them, so that these see what was written before them.
func (b *batch) repeatUnknown() error {
	var lost, evals []*goredis.Cmd
	var again []goredis.Cmder
	next := 0 // the script call that is next in b.cmds
	for _, cmd := range b.cmds {
		switch {
		case next < len(b.scripts) && goredis.Cmder(b.scripts[next].cmd) == cmd:
			s := b.scripts[next]
			next++
			if unknownScript(s.cmd.Err()) {
				eval := goredis.NewCmd(b.ctx, append([]any{"eval", s.source}, s.cmd.Args()[2:]...)...)
				lost, evals, again = append(lost, s.cmd), append(evals, eval), append(again, eval)
			}
		case len(lost) > 0 && reads(cmd.Name()):
			cmd.SetErr(nil)
			again = append(again, cmd)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if err := b.send(again); err != nil {
		return err
	}
	for i, cmd := range lost {
		cmd.SetVal(evals[i].Val())
		cmd.SetErr(evals[i].Err())
	}
	return nil
}

// reads reports whether a command changes nothing.
func reads(command string) bool {
	switch command {
	case "get", "mget", "zscore", "zmscore", "zcard", "zrange", "zrangebyscore", "zrevrange", "zrevrangebyscore":
		return true
	}
	return false
}

func unknownScript(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

// send sends commands in one round trip. Unknown scripts are no error of it.
func (b *batch) send(cmds []goredis.Cmder) error {
	switch len(cmds) {
	case 0:
		return nil
	case 1:
		_ = b.h.client.Process(b.ctx, cmds[0])
	default:
		pipe := b.h.client.Pipeline()
		_ = pipe.BatchProcess(b.ctx, cmds...)
		_, _ = pipe.Exec(b.ctx)
	}
	b.h.onRoundTrip(len(cmds))
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && !errors.Is(err, goredis.Nil) && !unknownScript(err) {
			return unavailable(cmd.Name(), err)
		}
	}
	return nil
}

// unavailable is the domain's error for all that goes wrong in Redis or on the way.
func unavailable(command string, err error) error {
	return feed.Unavailable("the hot store cannot be reached now, try again", fmt.Errorf("redis: %s: %w", command, err))
}
