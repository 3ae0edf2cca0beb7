package query

import (
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// StatusError is a gRPC status, from an upstream or our own. Its text may be
// shown: an upstream's words about a query are an answer to whoever asked.
type StatusError struct {
	Code    codes.Code
	Message string
	// Details are google.protobuf.Any messages in wire form.
	Details [][]byte
	// HTTP is the status when it differs from that of the code.
	HTTP int
	// Catalog knows the types of the details; it may be nil.
	Catalog *httprule.Catalog
	// Allow lists the methods of a path that does not take this one.
	Allow string
}

// Error returns the code and the message.
func (e *StatusError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Statusf makes a status of the code.
func Statusf(code codes.Code, format string, args ...any) *StatusError {
	return &StatusError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// withHTTP sets the HTTP status.
func (e *StatusError) withHTTP(status int) *StatusError {
	e.HTTP = status
	return e
}

// codeTable says what HTTP makes of each gRPC code, as gateways do.
var codeTable = map[codes.Code]struct {
	http int
	kind fault.Kind
}{
	codes.Canceled:           {408, fault.Canceled},
	codes.Unknown:            {500, fault.Internal},
	codes.InvalidArgument:    {400, fault.Invalid},
	codes.DeadlineExceeded:   {504, fault.Timeout},
	codes.NotFound:           {404, fault.NotFound},
	codes.AlreadyExists:      {409, fault.Conflict},
	codes.PermissionDenied:   {403, fault.Forbidden},
	codes.ResourceExhausted:  {429, fault.RateLimited},
	codes.FailedPrecondition: {400, fault.Invalid},
	codes.Aborted:            {409, fault.Conflict},
	codes.OutOfRange:         {400, fault.Invalid},
	codes.Unimplemented:      {501, fault.Unimplemented},
	codes.Internal:           {500, fault.Internal},
	codes.Unavailable:        {503, fault.Unavailable},
	codes.DataLoss:           {500, fault.Internal},
	codes.Unauthenticated:    {401, fault.Unauthenticated},
}

// HTTPStatus returns the HTTP status of the error.
func (e *StatusError) HTTPStatus() int {
	if e.HTTP != 0 {
		return e.HTTP
	}
	if row, ok := codeTable[e.Code]; ok {
		return row.http
	}
	return 500
}

// Kind returns the fault that the error amounts to.
func (e *StatusError) Kind() fault.Kind {
	switch e.HTTP {
	case 405:
		return fault.MethodNotAllowed
	case 502:
		return fault.Unavailable
	}
	return codeTable[e.Code].kind
}

// JSON writes the error as gateways do: code, message and details.
func (e *StatusError) JSON() []byte {
	var types *wirejson.Types
	if e.Catalog != nil {
		types = e.Catalog.Types
	}
	b := append([]byte(`{"code":`), fmt.Sprint(uint32(e.Code))...)
	b = append(b, `,"message":`...)
	b = wirejson.AppendString(b, []byte(e.Message))
	b = append(b, `,"details":[`...)
	for i, detail := range e.Details {
		if i > 0 {
			b = append(b, ',')
		}
		b = wirejson.AppendAny(b, types, detail, maxDetail)
	}
	return append(b, ']', '}')
}

// maxDetail bounds the JSON of one detail.
const maxDetail = 64 << 10
