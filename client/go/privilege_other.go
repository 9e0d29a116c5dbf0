//go:build !windows

package csiproxy

func mayManageStorage() (bool, string) { return true, "off Windows the node is simulated" }
