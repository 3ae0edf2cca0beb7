// Package doorcli keeps the members, invitations and operators of a running server over its
// routes, as the commands do that work on a deployment's own records.
package doorcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershiphttp"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorshttp"
)

// maxAnswer bounds the answer about one member.
const maxAnswer = 64 << 10

// Members are those of a running server, and its invitations. Its desk sits at /operator.
type Members struct{ Desk *shell.Desk }

// Members lists members in order of DID, behind one of them.
func (m Members) Members(ctx context.Context, after string, limit int) ([]membership.Member, error) {
	var said membershiphttp.MemberList
	query := url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}
	if err := m.Desk.Ask(ctx, http.MethodGet, "/members?"+query.Encode(), nil, &said); err != nil {
		return nil, err
	}
	out := make([]membership.Member, len(said.Members))
	for i, one := range said.Members {
		out[i] = memberOf(one)
	}
	return out, nil
}

// Named is how many members the setting ACCESS_DIDS of the server names; they are in no list.
func (m Members) Named(ctx context.Context) (int, error) {
	var said membershiphttp.Access
	err := m.Desk.Ask(ctx, http.MethodGet, "/access", nil, &said)
	return said.Named, err
}

// AddMember makes somebody a member; added is false for whoever is one already.
func (m Members) AddMember(ctx context.Context, did, note string) (_ membership.Member, added bool, err error) {
	body := membershiphttp.NewMember{Note: note}
	resp, err := m.Desk.Send(ctx, http.MethodPut, "/members/"+url.PathEscape(did), body)
	if err != nil {
		return membership.Member{}, false, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var said membershiphttp.Member
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&said); err != nil {
		return membership.Member{}, false, fmt.Errorf("read answer: %w", err)
	}
	return memberOf(said), resp.StatusCode == http.StatusCreated, nil
}

// RemoveMember ends a membership.
func (m Members) RemoveMember(ctx context.Context, did string) error {
	return m.Desk.Ask(ctx, http.MethodDelete, "/members/"+url.PathEscape(did), nil, nil)
}

// Invite makes an invitation, and returns its code.
func (m Members) Invite(ctx context.Context, n membership.NewInvitation) (membership.Invitation, string, error) {
	var said membershiphttp.MadeInvitation
	body := membershiphttp.NewInvitation{MaxUses: n.Uses, ExpiresIn: int64(n.Life / time.Second), Note: n.Note}
	err := m.Desk.Ask(ctx, http.MethodPost, "/invitations", body, &said)
	return invitationOf(said.Invitation), said.Code, err
}

// Invitations lists the newest.
func (m Members) Invitations(ctx context.Context, _ time.Time, limit int) ([]membership.Invitation, error) {
	var said membershiphttp.InvitationList
	if err := m.Desk.Ask(ctx, http.MethodGet, "/invitations?limit="+strconv.Itoa(limit), nil, &said); err != nil {
		return nil, err
	}
	out := make([]membership.Invitation, len(said.Invitations))
	for i, one := range said.Invitations {
		out[i] = invitationOf(one)
	}
	return out, nil
}

// RevokeInvitation ends an invitation.
func (m Members) RevokeInvitation(ctx context.Context, id string) error {
	return m.Desk.Ask(ctx, http.MethodDelete, "/invitations/"+url.PathEscape(id), nil, nil)
}

// memberOf reads what a server says; its notes are shown in a terminal.
func memberOf(m membershiphttp.Member) membership.Member {
	return membership.Member{
		DID: shell.OneLine(m.DID), Note: shell.OneLine(m.Note), Invite: shell.OneLine(m.Invitation), Added: timeOf(m.Added),
	}
}

// invitationOf reads what a server says. One that was withdrawn is so since it was made, as nobody
// is told when that was.
func invitationOf(i membershiphttp.Invitation) membership.Invitation {
	out := membership.Invitation{
		ID: shell.OneLine(i.ID), Note: shell.OneLine(i.Note), Uses: i.Uses, MaxUses: i.MaxUses, Created: timeOf(i.Created),
		Expires: timeOf(i.Expires),
	}
	if strings.Contains(i.Over, "withdrawn") {
		out.Revoked = out.Created
	}
	return out
}

func timeOf(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

// Operators are those of a running server. Its desk sits at /operator.
type Operators struct{ Desk *shell.Desk }

// Operators lists who has a role in order of DID, behind one of them.
func (o Operators) Operators(ctx context.Context, after string, _ int) ([]operators.Record, error) {
	var said operatorshttp.List
	err := o.Desk.Ask(ctx, http.MethodGet, "/operators?"+url.Values{"after": {after}}.Encode(), nil, &said)
	out := make([]operators.Record, len(said.Operators))
	for i, one := range said.Operators {
		out[i] = operators.Record{
			DID: shell.OneLine(one.DID), Role: operators.Role(shell.OneLine(one.Role)), Note: shell.OneLine(one.Note),
			By: shell.OneLine(one.By), Added: timeOf(one.Added),
		}
	}
	return out, err
}

// Give gives somebody a role. The server knows by whom.
func (o Operators) Give(ctx context.Context, did string, role operators.Role, note, _ string,
) (operators.Record, error) {
	body := operatorshttp.NewRecord{Role: string(role), Note: note}
	return operators.Record{}, o.Desk.Ask(ctx, http.MethodPut, "/operators/"+url.PathEscape(did), body, nil)
}

// Take takes a role away.
func (o Operators) Take(ctx context.Context, did, _ string) error {
	return o.Desk.Ask(ctx, http.MethodDelete, "/operators/"+url.PathEscape(did), nil, nil)
}
