// Package sets knows the data sets of the papers: the files they come in, who publishes them, and how to read
// those that the program itself does not. Files lie in one data folder under the names they are published by,
// packed by gzip or bzip2 or not packed; All is the one list of them.
//
// Files are from elsewhere: rows, columns, lengths of lines and bytes are limited before anything is made room
// for, and errors name the file, the line or record, and what is expected there.
package sets
