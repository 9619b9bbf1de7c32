package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// limitLength is SQLITE_LIMIT_LENGTH, the most bytes of a value.
const limitLength = 0

// records is a query of an SQLite database while its rows are read.
type records struct {
	db    *sql.DB
	rows  *sql.Rows
	names []string
	types []string // as declared, in capitals; empty of what is computed
	into  []any
	cells []string
	row   int64

	faults []error
}

// openSQLite asks an SQLite database. The file is opened for reading, and the connection compiles nothing but SELECT.
func openSQLite(ctx context.Context, l Location, lim Limits) (s *Source, err error) {
	if _, err := os.Stat(l.path); err != nil {
		return nil, withoutPath(err)
	}
	path, err := filepath.Abs(l.path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_dqs=0"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	r := &records{db: db}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := sqlite.Limit(conn, limitLength, lim.Record); err != nil {
		return nil, err
	}
	if err := conn.Raw(allowSelect); err != nil {
		return nil, err
	}
	if r.rows, err = conn.QueryContext(ctx, l.query); err != nil {
		return nil, fmt.Errorf("the query is refused: %w; a table is only read, by one SELECT", err)
	}
	types, err := r.rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	for _, t := range types {
		r.names, r.types = append(r.names, t.Name()), append(r.types, t.DatabaseTypeName())
	}
	if err := checkColumns(r.names); err != nil {
		return nil, errors.New("the query returns no rows; want one SELECT")
	}
	r.cells, r.into, r.faults = make([]string, len(types)), make([]any, len(types)), make([]error, len(types))
	for i := range r.into {
		r.into[i] = new(any)
	}
	return &Source{Columns: r.names, Faults: r.faults, next: r.next, close: r.close}, nil
}

// allowSelect makes a connection compile nothing that writes, attaches another file or changes a setting.
func allowSelect(conn any) error {
	r, ok := conn.(sqlite.AuthorizerRegisterer)
	if !ok {
		return errors.New("the driver has no authorizer")
	}
	type code = sqlite.AuthorizerReturnCode
	return r.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, _, name, _, _ string) code {
		switch action {
		case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
			return sqlite.AuthorizerOK
		case sqlite.AuthFunction:
			if name != "load_extension" {
				return sqlite.AuthorizerOK
			}
		}
		return sqlite.AuthorizerDeny
	})
}

// next returns the next row.
func (r *records) next() ([]string, error) {
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	r.row++
	if err := r.rows.Scan(r.into...); err != nil {
		return nil, err
	}
	for i, into := range r.into {
		var err error
		r.cells[i], err = formatSQLite(*into.(*any), r.types[i])
		fault(r.faults, i, r.row, r.names[i], err)
	}
	return r.cells, nil
}

// formatSQLite writes a value of a column that was declared as some type. SQLite has no type for truth values and
// times: a column says by its declaration that it holds them.
func formatSQLite(v any, declared string) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case int64:
		if (declared == "BOOLEAN" || declared == "BOOL") && (v == 0 || v == 1) {
			return formatBool(v == 1), nil
		}
		return strconv.FormatInt(v, 10), nil
	case float64:
		return formatFloat(v, 64)
	case bool:
		return formatBool(v), nil
	case time.Time:
		if declared == "DATE" {
			return formatDate(v)
		}
		return formatTime(v)
	case string:
		return v, nil
	}
	return "", errors.New("it is bytes (BLOB), which are no number or text; convert it in the query, " +
		"or leave it out")
}

// close ends the query and closes the file.
func (r *records) close() error {
	var err error
	if r.rows != nil {
		err = r.rows.Close()
	}
	// An interrupted query has nothing more to say.
	if err != nil && strings.Contains(err.Error(), "interrupt") {
		err = nil
	}
	return errors.Join(err, r.db.Close())
}
