package people

import (
	"strings"

	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

// Stored are those who have something with the services that a node has.
func Stored(db *sqldb.DB, serves func(service string) bool) []List {
	lists := []List{identitysql.New(db).Delegators}
	if serves("filestore") {
		lists = append(lists, filestoresql.New(db).Namespaces)
	}
	if serves("oracle") {
		lists = append(lists, oraclesql.New(db).Owners)
	}
	return lists
}

// DIDOf is the DID behind the name of an owner, or "" when it is no person's.
func DIDOf(name string) string {
	switch {
	case strings.HasPrefix(name, telephonekit.User), strings.HasPrefix(name, "did:ixo:entity:"):
		return ""
	case strings.HasPrefix(name, "ixo1"):
		return "did:ixo:" + name
	}
	return name
}
