//go:build !windows

package main

import "fmt"

func raceOnNode(options) (bool, error) { return false, fmt.Errorf("-raced needs Windows") }

func rightsOnNode(string) (bool, error) { return false, fmt.Errorf("-rights needs Windows") }
