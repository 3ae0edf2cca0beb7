module example.org/oracle

go 1.26.0

require github.com/castalia-org/castalia v0.1.0

replace github.com/castalia-org/castalia => ../..
