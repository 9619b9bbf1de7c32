package nn

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// FileSuffix is how the names of networks' files end.
const FileSuffix = ".safetensors"

// ReadFile is Parse of a file, of which no more than MaxFileBytes and one are read; its errors name the file.
func ReadFile(path string) (*Network, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	n, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}
