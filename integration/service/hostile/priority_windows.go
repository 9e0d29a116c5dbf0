package main

import "golang.org/x/sys/windows"

func lowerPriority() {
	windows.SetPriorityClass(windows.CurrentProcess(), windows.IDLE_PRIORITY_CLASS)
}
