//go:build !windows

package main

import "syscall"

func lowerPriority() { syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) }
