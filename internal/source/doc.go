// Package source opens what a table comes from: a text file (CSV or LIBSVM, also gzipped), a Parquet file or a folder
// of Parquet parts, a query of a PostgreSQL or SQLite database, or what a command writes.
//
// Text comes as it is, for a parser. All else comes row by row as cells of text in one form, whatever it came from: a
// whole number in decimal; a floating point number as the shortest decimal that reads back as the same, as
// strconv.FormatFloat writes it with format 'g'; a decimal without zeros at its end; a truth value as true or false; a
// date as 2006-01-02; a point in time as RFC 3339 in UTC. A missing value is the empty cell, as it is in CSV. NaN and
// infinities are refused, and so are nested values, bytes and other types that have no such form.
//
// A database is only read: PostgreSQL in a read-only transaction through a cursor, SQLite with a file opened for
// reading and an authorizer that lets SELECT pass alone. A command runs without a shell. Passwords come from the
// environment or a file; one in a location is refused, and no error quotes it.
package source
