// Command apiserver is an aggregated API server that shows how to use the watch
// cache of package cacher. Everything is in package server.
package main

import (
	"os"

	"github.com/watchsim/watchsim/cacher/examples/apiserver/server"
)

func main() { os.Exit(server.Main(os.Args[1:], os.Stdout, os.Stderr)) }
