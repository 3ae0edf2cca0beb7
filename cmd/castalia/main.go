// Command castalia is the whole of Castalia: server, tools and clients in one
// program, with the plugins that are shipped. Everything it does is in
// internal/cli.
package main

import "github.com/castalia-org/castalia"

func main() { castalia.Main() }
