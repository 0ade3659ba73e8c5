//go:build !linux

package redisserver

import "syscall"

// procAttr is nothing special where a process cannot be tied to its parent.
func procAttr() *syscall.SysProcAttr { return nil }
