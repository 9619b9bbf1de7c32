package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// fetched is how many rows are asked for at a time. They are read one by one as they arrive.
const fetched = 1000

// connectTime is how long a server may take to answer, where nothing else is said.
const connectTime = 15 * time.Second

// cursor is a query of a PostgreSQL database while its rows are read.
type cursor struct {
	ctx     context.Context
	conn    *pgconn.PgConn
	names   []string
	formats []func(text []byte) (string, error)
	faults  []error
	batch   *pgconn.ResultReader
	cells   []string
	row     int64 // rows so far
	from    int64 // of those, before this batch
}

// openPostgres asks a PostgreSQL database. Values come as the server writes them.
func openPostgres(ctx context.Context, l Location, lim Limits) (*Source, error) {
	config, err := pgconn.ParseConfigWithOptions(l.server, pgconn.ParseConfigOptions{
		ConnStringAllowedKeys: append([]string{"host", "port", "user", "database"}, connectionKeys...),
	})
	if err != nil {
		return nil, fmt.Errorf("the address or a variable PG… of the environment is wrong: %w", err)
	}
	config.MaxProtocolMessageBodyLen = lim.Record
	if config.ConnectTimeout == 0 || config.ConnectTimeout > connectTime {
		config.ConnectTimeout = connectTime
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	c := &cursor{ctx: ctx, conn: conn}
	if err := c.begin(l.query); err != nil {
		return nil, errors.Join(explainServer(err), c.close())
	}
	return &Source{Columns: c.names, Faults: c.faults, next: c.next, close: c.close}, nil
}

// begin opens the cursor in a transaction that cannot write, and finds out what the columns are. Each statement goes
// by the extended protocol, which takes one command: what follows a semicolon is refused.
func (c *cursor) begin(query string) error {
	for _, sql := range []string{
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		"SELECT set_config('datestyle', 'ISO, YMD', true), set_config('timezone', 'UTC', true), " +
			"set_config('extra_float_digits', '3', true), set_config('client_encoding', 'UTF8', true)",
	} {
		if err := c.execute(sql); err != nil {
			return err
		}
	}
	described, err := c.conn.Prepare(c.ctx, "", query, nil)
	if err != nil {
		return err
	}
	for _, f := range described.Fields {
		format, known := postgresTypes[f.DataTypeOID]
		if !known {
			if format, err = c.textType(f.DataTypeOID); err != nil && format == nil {
				return err
			}
		}
		c.names, c.formats, c.faults = append(c.names, f.Name), append(c.formats, format), append(c.faults, nil)
		fault(c.faults, len(c.faults)-1, 0, f.Name, err)
	}
	if err := checkColumns(c.names); err != nil {
		return errors.New("the query returns no rows; want one SELECT")
	}
	c.cells = make([]string, len(c.names))
	return c.execute("DECLARE hanse NO SCROLL CURSOR FOR " + query)
}

// execute runs one command.
func (c *cursor) execute(sql string) error {
	return c.conn.ExecParams(c.ctx, sql, nil, nil, nil, nil).Read().Err
}

// textType looks a type of the database's own up: an enumeration, or text by another name, is text. Of another type no
// cell is read, and the error says why; without a function beside it, it is the server's.
func (c *cursor) textType(oid uint32) (func([]byte) (string, error), error) {
	result := c.conn.ExecParams(c.ctx, "SELECT typtype, typcategory, format_type(oid, NULL) FROM pg_type WHERE oid = $1",
		[][]byte{fmt.Append(nil, oid)}, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	name := "unknown"
	if len(result.Rows) == 1 {
		r := result.Rows[0]
		if string(r[0]) == "e" || string(r[0]) == "b" && string(r[1]) == "S" {
			return formatText, nil
		}
		name = string(r[2])
	}
	return formatText, fmt.Errorf("is of type %s, which is no number, text, truth value, date or timestamp; convert it "+
		"in the query, or leave it out", name)
}

// next returns the next row.
func (c *cursor) next() ([]string, error) {
	for {
		if c.batch == nil {
			c.from = c.row
			c.batch = c.conn.ExecParams(c.ctx, fmt.Sprintf("FETCH FORWARD %d FROM hanse", fetched), nil, nil, nil, nil)
		}
		if c.batch.NextRow() {
			break
		}
		_, err := c.batch.Close()
		c.batch = nil
		if err != nil {
			return nil, explainServer(err)
		}
		if c.row == c.from {
			return nil, io.EOF
		}
	}
	c.row++
	for i, value := range c.batch.Values() {
		c.cells[i] = ""
		if value == nil || c.faults[i] != nil {
			continue
		}
		var err error
		c.cells[i], err = c.formats[i](value)
		fault(c.faults, i, c.row, c.names[i], err)
	}
	return c.cells, nil
}

// close ends the connection, and the transaction with it.
func (c *cursor) close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Second)
	defer cancel()
	if c.batch != nil || c.ctx.Err() != nil {
		cancel() // what is still to come is not waited for
	}
	c.conn.Close(ctx)
	return nil
}

// explainServer turns what the server says into a sentence.
func explainServer(err error) error {
	var said *pgconn.PgError
	var long *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(err, &long):
		return fmt.Errorf("a row has %d bytes; the limit is %d bytes", long.ActualBodyLen, long.MaxExpectedBodyLen)
	case !errors.As(err, &said):
		return err
	}
	text := strings.Join(strings.Fields(said.Message), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	if said.Code == "25006" {
		text += "; a table is only read"
	}
	return fmt.Errorf("the server refuses the query: %s (%s)", text, said.Code)
}

// postgresTypes says how the built-in types are written, by their object ids, which never change.
var postgresTypes = map[uint32]func([]byte) (string, error){
	16: func(v []byte) (string, error) { return formatBool(string(v) == "t"), nil },
	18: formatText, 19: formatText, 25: formatText, 705: formatText, 1042: formatText, 1043: formatText, 2950: formatText,
	20: formatText, 21: formatText, 23: formatText, 26: formatText, // whole numbers
	700:  func(v []byte) (string, error) { return reformatFloat(v, 32) },
	701:  func(v []byte) (string, error) { return reformatFloat(v, 64) },
	1700: formatNumeric,
	1082: func(v []byte) (string, error) { return reformatTime(v, time.DateOnly, formatDate) },
	1114: func(v []byte) (string, error) { return reformatTime(v, "2006-01-02 15:04:05.999999", formatTime) },
	1184: func(v []byte) (string, error) { return reformatTime(v, "2006-01-02 15:04:05.999999-07", formatTime) },
}

// formatText takes a value as the server writes it.
func formatText(v []byte) (string, error) { return string(v), nil }

// formatNumeric takes a decimal, which may be NaN, and is refused where it is infinite.
func formatNumeric(v []byte) (string, error) {
	if string(v) == nan {
		return nan, nil
	}
	if len(v) == 0 || bytes.ContainsAny(v, "NI") {
		return "", fmt.Errorf("%s is not a finite number; make it NULL if the value is missing", v)
	}
	return trimDecimal(string(v)), nil
}
