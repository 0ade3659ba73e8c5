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
// scripts that a server does not know are sent once more, by text.
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

func (b *batch) repeatUnknown() error {
	var lost []*goredis.Cmd
	var again []goredis.Cmder
	for _, s := range b.scripts {
		if !unknownScript(s.cmd.Err()) {
			continue
		}
		args := append([]any{"eval", s.source}, s.cmd.Args()[2:]...)
		lost = append(lost, s.cmd)
		again = append(again, goredis.NewCmd(b.ctx, args...))
	}
	if len(lost) == 0 {
		return nil
	}
	if err := b.send(again); err != nil {
		return err
	}
	for i, cmd := range lost {
		answer, ok := again[i].(*goredis.Cmd)
		if !ok {
			continue
		}
		cmd.SetVal(answer.Val())
		cmd.SetErr(answer.Err())
	}
	return nil
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
