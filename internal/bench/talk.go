package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// talker is a crowd in a process of its own.
type talker struct {
	*child
	orders  *json.Encoder
	answers chan string // its lines
}

// gather starts a crowd for the server at addr. Stop it when all is done.
func (b *bench) gather(addr string) (*talker, error) {
	var in io.WriteCloser
	var out io.ReadCloser
	c, err := startWith("crowd", func(cmd *exec.Cmd) (err error) {
		if in, err = cmd.StdinPipe(); err != nil {
			return err
		}
		cmd.Stdout = nil
		out, err = cmd.StdoutPipe()
		return err
	}, b.Program, "bench", "crowd", addr, firstPresent.String())
	if err != nil {
		return nil, err
	}
	b.children = append(b.children, c)
	t := &talker{child: c, orders: json.NewEncoder(in), answers: make(chan string, 1)}
	go func() {
		defer close(t.answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			t.answers <- lines.Text()
		}
	}()
	return t, nil
}

// ask gives an order and waits until it is carried out.
func (t *talker) ask(ctx context.Context, o order) (outcome, error) {
	if err := t.orders.Encode(o); err != nil {
		return outcome{}, fmt.Errorf("the crowd takes no orders: %w", err)
	}
	select {
	case line, ok := <-t.answers:
		var done outcome
		switch {
		case !ok:
			return outcome{}, fmt.Errorf("the crowd is gone; it said: %s", strings.TrimSpace(t.log.String()))
		case json.Unmarshal([]byte(line), &done) != nil:
			return outcome{}, fmt.Errorf("the crowd says %.300s", line)
		case done.Error != "":
			return outcome{}, errors.New(done.Error)
		}
		return done, nil
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	}
}
