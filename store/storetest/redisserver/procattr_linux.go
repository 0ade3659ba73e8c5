package redisserver

import "syscall"

// procAttr has a server end with the test that started it, however that ends.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
